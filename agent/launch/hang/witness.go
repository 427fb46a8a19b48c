package hang

import (
	"context"
	"slices"

	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// Witness takes the stacks of a group after one of its processes has failed, before the others are
// stopped.
type Witness struct {
	start   func(func())            // runs a function in a goroutine that the caller waits for
	workers func() map[string]Asker // the workers to ask
	hang    *Watch
	done    chan struct{}
	seen    Standing        // valid when done is closed
	over    map[string]bool // labels of processes that have ended; only for the group's goroutine
}

// NewWitness returns a Witness that asks these workers, and names their processes as the watch
// does. start runs a function in a goroutine.
func NewWitness(start func(func()), workers func() map[string]Asker, watch *Watch) *Witness {
	return &Witness{start: start, workers: workers, hang: watch, over: map[string]bool{}}
}

// Ended records that the process with this label has ended. Only the group's goroutine may call it.
func (w *Witness) Ended(label string) { w.over[label] = true }

// Begun reports whether taking stacks has begun.
func (w *Witness) Begun() bool { return w.done != nil }

// Found waits until the stacks are taken, at most FailureStacks, and returns where the ranks stand.
func (w *Witness) Found() Standing {
	<-w.done
	return w.seen
}

// Begin starts to take stacks. Call it once. The channel is closed when all answers have arrived.
func (w *Witness) Begin(ctx context.Context) <-chan struct{} {
	w.done = make(chan struct{})
	w.start(func() {
		defer close(w.done)
		w.seen = TakeStacks(ctx, FailureStacks, wire.ProgramsBrief, w.workers(), w.hang.LabelOf)
	})
	return w.done
}

// Judge returns the verdict about the ranks that were alive when the failure became known, and its
// lines. Both are empty if there is no verdict: the stacks of ranks that are fine explain no
// failure.
func (w *Witness) Judge(f stacks.Failure) (sentence string, lines []string) {
	if w.done == nil {
		return "", nil
	}
	select {
	case <-w.done:
	default:
		return "", nil // out of time
	}
	seen := w.seen
	seen.Ranks = slices.DeleteFunc(slices.Clone(seen.Ranks), func(r stacks.Rank) bool { return w.over[w.hang.LabelOf(r.Record.Session)] })
	v := stacks.OfFailure(f, seen.Ranks)
	if v.Sentence == "" {
		return "", nil
	}
	return v.Sentence, seen.Lines(v)
}
