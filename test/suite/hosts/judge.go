package hosts

import (
	"fmt"
	"slices"
	"strings"
)

// Endpoints lists what is to be dialled, each once.
func Endpoints(found []Found) (list []string) {
	for _, f := range found {
		list = append(list, f.Endpoints...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Judge says, of the answers that worker from had by dial.py, what is wrong: a
// host that does not resolve or answer, that is another one than is meant, or a
// worker that is meant and not named.
func Judge(found []Found, from string, answers map[string]string) (wrong []string) {
	for _, f := range found {
		var met []string
		for _, e := range f.Endpoints {
			who := answers[e]
			switch {
			case who == "" || strings.HasPrefix(who, "error: "):
				wrong = append(wrong, fmt.Sprintf("%s: %s of %s: %s from %s: %q", f.Case, f.Name, f.Process, e, from, who))
			case !slices.Contains(f.Workers, who):
				wrong = append(wrong, fmt.Sprintf("%s: %s of %s: %s is %s, seen from %s, and %s is meant", f.Case, f.Name, f.Process, e, who, from, strings.Join(f.Workers, " or ")))
			}
			met = append(met, who)
		}
		for _, w := range f.Workers {
			if !slices.Contains(met, w) {
				wrong = append(wrong, fmt.Sprintf("%s: %s of %s: %s is not in it: %s", f.Case, f.Name, f.Process, w, strings.Join(f.Endpoints, " ")))
			}
		}
	}
	return wrong
}
