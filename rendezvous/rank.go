package rendezvous

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// indexLabels are in order of precedence: ours, then those of indexed Jobs, StatefulSets and the
// Kubeflow training operators.
var indexLabels = [...]string{names.LabelIndex, names.LabelCompletionIndex, names.LabelPodIndex, names.LabelReplicaIndex}

// indexOf returns the number of the worker, and whether it comes from a label.
func indexOf(pod *corev1.Pod) (index int, labelled bool) {
	for _, label := range indexLabels {
		if n, err := strconv.Atoi(pod.Labels[label]); err == nil && n >= 0 {
			return n, true
		}
	}
	return trailingNumber(pod.Name), false
}

// givenTo returns 1 plus the place of the pod among all pods of its job, if Kueue or JobSet has
// given it one, else 0. Several pods of a JobSet's Job have the same place; Index orders them.
func givenTo(pod *corev1.Pod) int {
	kueue := cmp.Or(pod.Annotations[names.AnnotationKueueIndexLabel], names.LabelKueueIndex)
	for _, label := range []string{kueue, names.LabelJobSetIndex} {
		if n, err := strconv.Atoi(pod.Labels[label]); err == nil && n >= 0 {
			return n + 1
		}
	}
	return 0
}

// trailingNumber returns the number at the end of a name, or -1 if there is none or if it does not
// fit into an int32.
func trailingNumber(name string) int {
	start := len(name)
	for start > 0 && name[start-1] >= '0' && name[start-1] <= '9' {
		start--
	}
	n, err := strconv.ParseInt(name[start:], 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// Rank orders workers by the place that Kueue or JobSet gave them, by index, then by name; those
// without an index come last. The order depends only on the names and labels of the pods, so it is
// the same after every restart of the launcher. If two pods have the same place and index label, one
// replaces the other: a live pod wins, then the newest. The others are returned as replaced. The
// argument is not changed.
func Rank(workers []Worker) (ranked, replaced []Worker) {
	type number struct{ given, index int }
	best := map[number]Worker{}
	for _, w := range workers {
		at := number{w.Given, w.Index}
		if old, ok := best[at]; w.Labelled && (!ok || supersedes(w, old)) {
			best[at] = w
		}
	}
	for _, w := range workers {
		if w.Labelled && best[number{w.Given, w.Index}].UID != w.UID {
			replaced = append(replaced, w)
		} else {
			ranked = append(ranked, w)
		}
	}
	slices.SortFunc(ranked, byIndex)
	slices.SortFunc(replaced, byIndex)
	return ranked, replaced
}

// supersedes reports whether a, and not b, is the worker of their common index.
func supersedes(a, b Worker) bool {
	if a.live() != b.live() {
		return a.live()
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID)) > 0
}

func byIndex(a, b Worker) int {
	if a.Given != b.Given {
		return cmp.Compare(a.Given, b.Given)
	}
	if (a.Index < 0) != (b.Index < 0) {
		return cmp.Compare(b.Index, a.Index)
	}
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
