//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	prepare "github.com/musterhq/muster/agent/framework"
)

// The list stands between these lines of the README.
const (
	listBegin = "<!-- frameworks: begin"
	listEnd   = "<!-- frameworks: end -->"
)

// writeList puts what was run into the README at path: by CI, by `make
// frameworks` alone, and what has only its environment.
func writeList(path string, all []row, results []result) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := bytes.Index(text, []byte(listBegin)), bytes.Index(text, []byte(listEnd))
	if begin < 0 || end < begin {
		return errors.New(path + " has no place for the list")
	}
	head := begin + bytes.IndexByte(text[begin:], '\n') + 1
	out := slices.Concat(text[:head], []byte(list(all, results)), text[end:])
	return os.WriteFile(path, out, 0o644)
}

// list is the README's text.
func list(all []row, results []result) string {
	var inCI, byHand, never []string
	ran := map[string]bool{"plain": true} // the tests of agent run itself
	for _, r := range all {
		var places []string
		for _, res := range results {
			if res.Key == r.key && res.Result == passed {
				places = append(places, map[string]string{"fake": "fake workers", "cluster": "pods"}[res.Where])
			}
		}
		what := r.framework + ", " + r.way
		switch {
		case len(places) == 0:
			never = append(never, what)
			continue
		case r.ci && slices.Contains(places, "pods"):
			inCI = append(inCI, what)
		default:
			byHand = append(byHand, what+" ("+strings.Join(places, ", ")+")")
		}
		ran[r.name()] = true
	}
	for _, family := range []string{"openmpi", "mpich", "intelmpi"} {
		ran[family] = ran[family] || ran["mpi"] // which is all of them
	}
	for _, name := range prepare.Names() {
		if !ran[name] && name != prepare.Auto {
			never = append(never, "`--framework="+name+"`")
		}
	}
	return fmt.Sprintf("**Run in our CI, as pods:** %s; Open MPI 4.1 and MPICH 4.0 in `make e2e`.\n\n**Run by `make frameworks`:** %s.\n\n**Environment only, never run by us:** %s.\n",
		joined(inCI), joined(byHand), joined(never))
}

func joined(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, "; ")
}

// name is what --framework is, or would be.
func (r row) name() string {
	for _, flag := range r.flags {
		if name, ok := strings.CutPrefix(flag, "--framework="); ok {
			return name
		}
	}
	return prepare.Detect(r.argv)
}
