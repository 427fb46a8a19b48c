package rendezvous

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// reported is how many pods of each kind Report lists.
const reported = 20

// Report tells at the deadline who is ready, why the others are not, by which
// selector pods were looked for, and which pods exist beside those that match:
// all is what Neighbours found, nil where the launcher may not list.
func (b *Board) Report(all []*corev1.Pod, now time.Time) string {
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
	b.strangers(&out, all)
	return out.String()
}

// strangers lists the pods that match nothing, with their labels: a selector
// with a slip of the pen is seen at once beside them.
func (b *Board) strangers(out *strings.Builder, all []*corev1.Pod) {
	var others []*corev1.Pod
	for _, pod := range all {
		if b.pods[string(pod.UID)] == nil {
			others = append(others, pod)
		}
	}
	if len(others) == 0 {
		return
	}
	fmt.Fprintf(out, "other pods in the namespace: %d\n", len(others))
	for i, pod := range others {
		if i == reported {
			fmt.Fprintf(out, "  and %d more\n", len(others)-i)
			break
		}
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
			labels = append(labels, key+"="+pod.Labels[key])
		}
		fmt.Fprintf(out, "  %s (%s) labels: %s\n", pod.Name, or(string(pod.Status.Phase), "Unknown"), or(clip(strings.Join(labels, ","), 200), "none"))
	}
}
