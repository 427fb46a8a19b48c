package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
)

// explainInterfaces prints which network interface each worker uses, and why. Workers with the same
// interfaces share a line, which has the address of the first one.
func explainInterfaces(w io.Writer, hosts []plan.Host) {
	type same struct{ name, why string }
	count := map[same]int{}
	var first []plan.Host
	of := func(h plan.Host) same { return same{h.Interface, strings.ReplaceAll(h.Why, h.IP, "")} }
	for _, h := range hosts {
		if h.Why == "" {
			continue
		}
		if count[of(h)]++; count[of(h)] == 1 {
			first = append(first, h)
		}
	}
	for _, h := range first {
		more := ""
		if n := count[of(h)] - 1; n > 0 {
			more = " and " + phrase.Count(n, "more worker")
		}
		fmt.Fprintf(w, "# network interface of %s%s: %s (%s)\n", h.Name, more, cmp.Or(h.Interface, "none"), h.Why)
	}
}
