package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// Slowest is the worker that was longest in a phase.
type Slowest struct {
	Phase  Phase
	Worker string
	Node   string
	Took   time.Duration
	Median time.Duration // of all workers
	Cause  string        // "": unknown
}

// worstFinding returns the first problem that the preflight found, which is the worst, as the entry
// for Checking. All workers are checked together, so none of them is the slowest.
func worstFinding(t *Timeline) (s Slowest, found bool) {
	for i := range t.Workers {
		w := &t.Workers[i]
		if w.Name != t.problem.Worker {
			continue
		}
		spent := w.Spent()[Checking]
		return Slowest{Phase: Checking, Worker: w.Name, Node: w.Node, Took: spent, Median: spent, Cause: t.problem.Detail}, true
	}
	return s, false
}

// slowest returns the slowest worker of each phase that some worker was in, except shared phases.
func slowest(t *Timeline) (all []Slowest) {
	spent := make([]map[Phase]time.Duration, len(t.Workers))
	for i := range t.Workers {
		spent[i] = t.Workers[i].Spent()
	}
	for _, a := range Table() {
		if s, found := worstFinding(t); a.Phase == Checking && found {
			all = append(all, s)
		}
		if a.Shared {
			continue
		}
		var one *Worker
		var took []time.Duration
		longest := time.Duration(0)
		for i := range t.Workers {
			d := spent[i][a.Phase]
			took = append(took, d)
			if d > longest {
				one, longest = &t.Workers[i], d
			}
		}
		if one == nil {
			continue
		}
		slices.Sort(took)
		all = append(all, Slowest{Phase: a.Phase, Worker: one.Name, Node: one.Node, Took: longest, Median: took[len(took)/2], Cause: one.cause(a.Phase)})
	}
	return all
}

// cause returns the newest cause that events of the worker give for its time in a phase.
func (w *Worker) cause(p Phase) string {
	for _, e := range slices.Backward(w.Notes) {
		switch {
		case e.Detail == "":
		case p == Lost:
			if e.Kind == event.WorkerLost {
				return e.Detail
			}
		case e.Kind == event.Waiting || e.Kind == event.ImagePulling && p == Pulling:
			if w.in(p, e.Time) {
				return e.Detail
			}
		}
	}
	return ""
}

// in reports whether the worker was in a phase at a time.
func (w *Worker) in(p Phase, at time.Time) bool {
	return slices.ContainsFunc(w.Spans, func(s Span) bool { return s.Phase == p && !at.Before(s.From) && !at.After(s.To) })
}

// byName compares names so that w-2 is before w-10.
func byName(a, b string) int {
	x, y := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
