package settings

import (
	"iter"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Setting is one option of a run.
type Setting struct {
	Name  string // of the flag, without dashes
	Short string // one letter; "" if it has none
	Kind  Kind
	// First says that --help shows the setting. --help-all shows all settings.
	First bool
	// Field is the path in the spec of a LaunchJob; "" if a job has no such field.
	Field             string
	Run, Join, Submit Use
}

// Use is how a verb offers a setting. The zero Use means that the verb does not have it.
type Use struct {
	Group   string // the heading in --help
	Help    string // with the name of the value between backquotes
	Default string // as a user would type it
}

// Kind is the type of value that a setting takes.
type Kind string

// The kinds of settings.
const (
	Number   Kind = "number"   // an int
	Text     Kind = "text"     // a string
	Duration Kind = "duration" // a time.Duration: 90s, 10m
	Switch   Kind = "switch"   // a bool
	Names    Kind = "names"    // a []string, given once, separated by commas
	Repeated Kind = "repeated" // a []string, given once for each entry
	List     Kind = "list"     // a string, a list of rules as JSON
	Rule     Kind = "rule"     // part of a progress rule: the order on the command line matters
)

// Verb selects the Use of one verb.
type Verb func(Setting) Use

// OfRun selects agent run, env and hosts.
func OfRun(s Setting) Use { return s.Run }

// OfJoin selects agent join.
func OfJoin(s Setting) Use { return s.Join }

// OfSubmit selects agent submit.
func OfSubmit(s Setting) Use { return s.Submit }

// All returns every setting, in the order of help.
func All() iter.Seq[Setting] { return table() }

// Of returns the settings that a verb has, in the order of its help.
func Of(verb Verb) iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		for s := range table() {
			if verb(s).Help != "" && !yield(s) {
				return
			}
		}
	}
}

// Variable returns the environment variable of a flag: MUSTER_MAX_RESTARTS for max-restarts.
func Variable(name string) string {
	return "MUSTER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Known lists every variable that one of our programs reads: those of the settings of run and join,
// and those of [names.Variables].
func Known() []string {
	all := names.Variables()
	for s := range table() {
		if s.Run.Help != "" || s.Join.Help != "" {
			all = append(all, Variable(s.Name))
		}
	}
	return all
}
