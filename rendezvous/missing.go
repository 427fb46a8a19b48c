package rendezvous

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// missing says which workers have no pod yet. The zero Reason means none.
func (b *Board) missing(now time.Time) Reason {
	absent := b.want - len(b.ranked)
	if absent <= 0 || !b.seen {
		return Reason{}
	}
	r := Reason{
		Code: Missing,
		Hint: fmt.Sprintf("see what creates the pods (its events, a quota), the number of workers, and the selector: kubectl get pods -n %s -l '%s'",
			or(b.Namespace, "default"), b.Selector),
		Since: b.start,
	}
	who, found := "", plural(len(b.ranked), "pod matches", "pods match")
	switch {
	case len(b.Names) > 0:
		names := b.absentNames()
		who, found = list(names, 3), plural(len(b.ranked), "pod exists", "pods exist")
		r.Hint = "see what creates the pods: kubectl get pods " + strings.Join(names[:min(len(names), 3)], " ") + " -n " + or(b.Namespace, "default")
	case b.numbered():
		who = ranges(b.absentIndexes())
		if absent == 1 {
			who = "worker " + who
		} else {
			who = "workers " + who
		}
	default:
		who = fmt.Sprintf("%d of %d", absent, b.want)
	}
	if len(b.ranked) == 0 && len(b.Names) == 0 {
		r.Hint = fmt.Sprintf("no pod has these labels: see what creates the pods, and compare the selector with kubectl get pods -n %s --show-labels",
			or(b.Namespace, "default"))
	}
	r.Brief = "Missing: no pod yet for " + who
	r.Sentence = fmt.Sprintf("no pod yet for %s%s; %s", who, lasting(b.start, now), found)
	return r
}

// numbered reports whether the existing pods show how the missing ones would be called.
func (b *Board) numbered() bool {
	seen := map[int]bool{}
	for _, w := range b.ranked {
		if w.Index < 0 || w.Index > b.want || seen[w.Index] {
			return false
		}
		seen[w.Index] = true
	}
	return len(b.ranked) > 0
}

// absentIndexes returns the missing numbers. It counts from 0, unless the names show that they
// count from 1.
func (b *Board) absentIndexes() []int {
	have := map[int]bool{}
	for _, w := range b.ranked {
		have[w.Index] = true
	}
	base := 0
	if have[b.want] && !have[0] {
		base = 1
	}
	var absent []int
	for i := base; i < base+b.want; i++ {
		if !have[i] {
			absent = append(absent, i)
		}
	}
	return absent
}

func (b *Board) absentNames() []string {
	var absent []string
	for _, name := range b.Names {
		if !slices.ContainsFunc(b.ranked, func(w Worker) bool { return w.Name == name }) {
			absent = append(absent, name)
		}
	}
	return absent
}

// list joins at most n names.
func list(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
