package hang

import (
	"context"
	"slices"

	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// Witness takes the stacks of a group when one of its processes has failed, before the
// others are stopped.
type Witness struct {
	start   func(func())            // runs a function beside the caller, whose owner waits for it
	workers func() map[string]Asker // those to ask
	hang    *Watch
	done    chan struct{}
	seen    Standing        // when done is closed
	over    map[string]bool // labels of processes that have ended; of the group's goroutine
}

// NewWitness asks those workers, and names their processes as the watch does. start runs a
// function beside the caller.
func NewWitness(start func(func()), workers func() map[string]Asker, watch *Watch) *Witness {
	return &Witness{start: start, workers: workers, hang: watch, over: map[string]bool{}}
}

// Ended notes that the process with that label has ended. It is for the group's goroutine.
func (w *Witness) Ended(label string) { w.over[label] = true }

// Begun reports whether stacks are taken, or were.
func (w *Witness) Begun() bool { return w.done != nil }

// Found waits until the stacks are taken, failureStacks at most, and returns where the ranks stand.
func (w *Witness) Found() Standing {
	<-w.done
	return w.seen
}

// Begin starts it, once. The channel is closed when it has all that it gets.
func (w *Witness) Begin(ctx context.Context) <-chan struct{} {
	w.done = make(chan struct{})
	w.start(func() {
		defer close(w.done)
		w.seen = TakeStacks(ctx, FailureStacks, wire.ProgramsBrief, w.workers(), w.hang.LabelOf)
	})
	return w.done
}

// Judge returns the verdict over the ranks that lived when the failure became known, and its lines.
// They are empty where nothing can be said: the stacks of ranks that are fine
// explain no failure.
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
