package rendezvous

import (
	"fmt"
	"strings"
	"time"
)

// reported is how many pods of each kind Report lists.
const reported = 20

// Report says, at the deadline, which workers are ready, why the others are not, and which selector
// or names were used. It names only the job's own pods.
func (b *Board) Report(now time.Time) string {
	p := b.Tick(now)
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d workers are ready after %s\n", p.Ready, b.needed(), short(p.Elapsed))
	if len(b.Names) > 0 {
		fmt.Fprintf(&out, "names: %s, in namespace %s: %s\n", list(b.Names, 5), b.Namespace, plural(len(b.pods), "pod exists", "pods exist"))
	} else {
		fmt.Fprintf(&out, "selector: %s, in namespace %s: %s\n", or(b.Selector, "(every pod)"), b.Namespace, plural(len(b.pods), "pod matches", "pods match"))
	}
	hinted := map[string]bool{}
	for i, line := range p.Waiting {
		if i == reported {
			fmt.Fprintf(&out, "  and %d more\n", len(p.Waiting)-i)
			break
		}
		fmt.Fprintf(&out, "  %s\n", line.Reason.Sentence)
		if hint := line.Reason.Hint; hint != "" && !hinted[hint] {
			hinted[hint] = true
			fmt.Fprintf(&out, "    hint: %s\n", hint)
		}
	}
	for _, note := range p.Notes[:min(len(p.Notes), reported)] {
		fmt.Fprintf(&out, "  %s\n", note)
	}
	return out.String()
}
