package preflight

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// mostSentences is how many sentences are printed before a run. `agent doctor` prints all.
const mostSentences = 5

// Sentence is a warning and its way out.
type Sentence struct{ Text, Hint string }

// Sentences puts findings that are worse than unknown into words. Workers with the same finding
// share a sentence.
func Sentences(found []check.Finding) []Sentence {
	type kind struct{ check, found, remedy string }
	var order []kind
	where := map[kind][]check.Finding{}
	for _, f := range found {
		if f.Verdict != check.Warn && f.Verdict != check.Fail {
			continue
		}
		k := kind{f.Check, f.Found, f.Remedy}
		if where[k] == nil {
			order = append(order, k)
		}
		where[k] = append(where[k], f)
	}
	var list []Sentence
	for _, k := range order {
		if len(list) == mostSentences {
			list = append(list, Sentence{Text: names.PreflightFailed + phrase.Count(len(order)-len(list), "more finding"), Hint: "agent doctor lists all, while the command runs"})
			break
		}
		list = append(list, Sentence{Text: names.PreflightFailed + place(where[k]) + k.found, Hint: k.remedy})
	}
	return list
}

// place names where a finding holds: "worker-3 on gpu-7: ", or "worker-1, worker-2 and 58 more: ".
func place(all []check.Finding) string {
	switch f := all[0]; {
	case f.Of == "":
		return ""
	case len(all) == 1 && f.Node != "":
		return f.Of + " on " + f.Node + ": "
	case len(all) == 1:
		return f.Of + ": "
	}
	names := make([]string, 0, 2)
	for _, f := range all[:2] {
		names = append(names, f.Of)
	}
	if len(all) == 2 {
		return strings.Join(names, " and ") + ": "
	}
	return fmt.Sprintf("%s and %d more: ", strings.Join(names, ", "), len(all)-2)
}
