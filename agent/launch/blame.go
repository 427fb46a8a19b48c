//go:build linux

package launch

import (
	"context"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/stacks"
)

// witness returns the function that the group calls for failures before it stops the rest. It returns
// nil if stacks are not wanted. Stacks are taken only if they can explain the failure: ten thousand
// workers that are asked in vain would end later.
func (r *runner) witness(w *hang.Witness) func(context.Context, group.Failure) <-chan struct{} {
	if r.cfg.Stacks == config.StacksNever {
		return nil
	}
	return func(ctx context.Context, f group.Failure) <-chan struct{} {
		if stacks.OfFailure(stacks.Failure{Sentence: f.Sentence(), Tail: f.Tail}, nil).Sentence == "" {
			return nil
		}
		return w.Begin(ctx)
	}
}

// tellBlame says which rank the failed process, or one that failed with it, was waiting for, if the
// stacks show that.
func (r *runner) tellBlame(attempt int, f group.Failure, w *hang.Witness) {
	var sentence string
	var lines []string
	for _, one := range append([]group.Failure{f}, f.Beside...) {
		if sentence, lines = w.Judge(stacks.Failure{Sentence: one.Sentence(), Tail: one.Tail}); sentence != "" {
			break
		}
	}
	if sentence == "" {
		return
	}
	r.report.Blames = append(r.report.Blames, report.Blame{Attempt: attempt, When: "failure", Sentence: sentence})
	for _, line := range lines {
		r.voice.Warn("%s", line)
	}
}
