package reference

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/agent/timeline"
)

// Events lists the kinds of events.
func Events() (string, error) {
	var b strings.Builder
	b.WriteString("| kind | of | what happened | detail |\n|---|---|---|---|\n")
	for _, a := range event.Table() {
		if a.Means == "" {
			return "", fmt.Errorf("event %s has no sentence", a.Kind)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", a.Kind, a.Of, cell(a.Means), cell(cmp.Or(a.Detail, "none")))
	}
	return b.String(), nil
}

// Phases lists the phases of a timeline.
func Phases() (string, error) {
	var b strings.Builder
	b.WriteString("| mark | phase | the worker is in it while |\n|---|---|---|\n")
	for _, a := range timeline.Table() {
		fmt.Fprintf(&b, "| `%c` | %s | %s |\n", a.Mark, a.Phase, cell(a.Means))
	}
	return b.String(), nil
}

// Classes lists the classes of goodput.
func Classes() (string, error) {
	var b strings.Builder
	b.WriteString("| class | counts | a worker's time is of the class while |\n|---|---|---|\n")
	for _, a := range goodput.Table() {
		counts := "yes"
		if !a.Counted {
			counts = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.Class, counts, cell(a.Means))
	}
	return b.String(), nil
}
