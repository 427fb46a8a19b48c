//go:build linux

package launch

import (
	"context"
	"slices"
	"strconv"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/stacks"
	"github.com/musterhq/muster/exec/wire"
)

// tellStacks says who the others wait for, and where all stand, when the run has come
// to a stop. It reports whether there was anything to say.
func (s *supervisor) tellStacks(h hang.Finding, when string) (verdict string, said bool) {
	if h.Stacks == nil {
		return "", false
	}
	v := stacks.OfHang(h.Stacks.Ranks)
	if v.Sentence != "" {
		s.blames = append(s.blames, report.Blame{When: when, Sentence: v.Sentence})
	}
	if !h.Stacks.Told() {
		if v.Sentence != "" {
			s.voice.Warn("%s", v.Sentence)
		}
		for _, line := range h.Stacks.Beside() {
			s.voice.Warn("%s", line)
		}
		return v.Sentence, false
	}
	for _, line := range h.Stacks.Lines(v) {
		s.voice.Warn("%s", line)
	}
	return v.Sentence, true
}

// witness is what the group has called at its first failure; nil: nobody looks.
func (r *runner) witness(w *hang.Witness) func(context.Context) <-chan struct{} {
	if r.cfg.Stacks == config.StacksNever {
		return nil
	}
	return w.Begin
}

// tellBlame says who the failed process, or one that failed with it, has waited for, where its stacks tell.
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

// stacksOf tells people, by the broker, where ranks stand. Nothing says that the job
// hangs, so nobody is blamed.
func (s *service) stacksOf(l *fleet.Links, cfg config.Config) func(context.Context, []string) []string {
	if cfg.Stacks == config.StacksNever {
		return func(context.Context, []string) []string {
			return []string{"stacks are not taken here: agent run was given --stacks=never"}
		}
	}
	return func(ctx context.Context, numbers []string) []string {
		s.mu.RLock()
		label := s.label
		s.mu.RUnlock()
		at := hang.TakeStacks(ctx, hang.AskedStacks, wire.ProgramsAll, l.Askers(), label)
		if len(numbers) > 0 {
			at.Ranks = slices.DeleteFunc(at.Ranks, func(r stacks.Rank) bool { return !slices.Contains(numbers, strconv.Itoa(r.Number)) })
		}
		switch {
		case len(at.Ranks) > 0 || len(at.Unknown) > 0:
		case len(numbers) > 0:
			return []string{"no such rank runs"}
		default:
			return []string{"no ranks run"}
		}
		v := stacks.OfHang(at.Ranks)
		if v.Sentence = v.Facts(); len(numbers) > 0 {
			v.Sentence = ""
		}
		return at.Lines(v)
	}
}
