package settings

import (
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Setting is one option of a run.
type Setting struct {
	Name  string // of the flag, without dashes
	Short string // its one letter; "": it has none
	Kind  Kind
	// Field is its path in the spec of a LaunchJob; "": a job has no such field.
	Field             string
	Run, Join, Submit Use
}

// Use says how a verb has a setting. The zero Use is a verb that does not have it.
type Use struct {
	Group   string // the heading in --help
	Help    string // what the value is called stands in it between backquotes
	Default string // as a user would type it
}

// Kind is what a setting takes.
type Kind string

// The kinds of settings.
const (
	Number   Kind = "number"   // an int
	Text     Kind = "text"     // a string
	Duration Kind = "duration" // a time.Duration: 90s, 10m
	Switch   Kind = "switch"   // a bool
	Names    Kind = "names"    // a []string, given once with commas between
	Repeated Kind = "repeated" // a []string, given once for each
	Rule     Kind = "rule"     // part of a progress rule: their order on the command line counts
)

// Verb chooses the Use of one verb.
type Verb func(Setting) Use

// OfRun chooses agent run, and with it env and hosts.
func OfRun(s Setting) Use { return s.Run }

// OfJoin chooses agent join.
func OfJoin(s Setting) Use { return s.Join }

// OfSubmit chooses agent submit.
func OfSubmit(s Setting) Use { return s.Submit }

// All lists every setting, in the order of help.
func All() []Setting { return table() }

// Of lists the settings that a verb has, in the order of its help.
func Of(verb Verb) []Setting {
	var all []Setting
	for _, s := range table() {
		if verb(s).Help != "" {
			all = append(all, s)
		}
	}
	return all
}

// Variable is the environment variable of a flag: MUSTER_MAX_RESTARTS for max-restarts.
func Variable(name string) string {
	return "MUSTER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Known lists every variable that means something to one of our programs: those of the
// settings that run or join has, and those of [names.Variables].
func Known() []string {
	all := names.Variables()
	for _, s := range table() {
		if s.Run.Help != "" || s.Join.Help != "" {
			all = append(all, Variable(s.Name))
		}
	}
	return all
}
