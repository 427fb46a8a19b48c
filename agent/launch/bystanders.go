//go:build linux

package launch

import (
	"context"
	"slices"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/stacks"
)

// bystanders are the ranks of an mpirun that live when another one has failed. Their stacks
// are taken at once, as the mpirun will end them: Open MPI sends TERM a second later, and
// Hydra sends KILL without delay. A nil one does nothing.
type bystanders struct {
	*hang.Witness
	news chan struct{} // has one when a rank has failed
}

// bystanders returns what watches over the ranks of the attempt's command; nil: nobody does.
func (r *runner) bystanders(a *attempt) *bystanders {
	if r.cfg.Stacks == config.StacksNever || r.cfg.Rule() != verdict.ExitStrict {
		return nil
	}
	b := &bystanders{Witness: hang.NewWitness(r.wg.Go, r.links.Askers, a.hang), news: make(chan struct{}, 1)}
	r.tally.HearFailed(func() { wait.Token(b.news) })
	return b
}

// due has a value when a rank has failed and no stacks were taken yet.
func (b *bystanders) due() <-chan struct{} {
	if b == nil || b.Begun() {
		return nil
	}
	return b.news
}

// onFailedRank begins to take the stacks of the others, unless we end the command ourselves.
func (s *supervisor) onFailedRank(ctx context.Context) {
	if p := s.ending.phase; !p.told() && !p.lost() && !p.going() && !s.ending.asked && s.hung == "" {
		s.bystand.Begin(ctx)
	}
}

// found waits until the stacks are taken, failureStacks after the failure at most.
func (b *bystanders) found() (hang.Standing, bool) {
	if b == nil || !b.Begun() {
		return hang.Standing{}, false
	}
	return b.Found(), true
}

// tellBystanders says who the failed rank has waited for, if its last words and the stacks of
// the others tell.
func (r *runner) tellBystanders(a *attempt) {
	e := a.evidence
	failed, known := verdict.FirstOfItself(e)
	if !known || e.Told != 0 || len(e.Lost) > 0 || a.verdict.Code == 0 {
		return
	}
	f := stacks.Failure{Sentence: "rank " + failed.Rank + " on " + failed.Worker + " " + phrase.HowEnded(failed.Code, failed.Signal), Tail: a.words.Last(), Mixed: true}
	if stacks.OfFailure(f, nil).Sentence == "" {
		return // the stacks of ranks that are fine explain no failure: they are not waited for
	}
	at, found := a.watcher.bystand.found()
	at, missing := apartFrom(at, failed, e.Ranks)
	if !found || len(at.Unknown) > 0 || !at.Told() {
		return
	}
	v := stacks.OfFailure(f, slices.Concat(at.Ranks, missing))
	r.report.Blames = append(r.report.Blames, report.Blame{Attempt: a.number, When: "failure", Sentence: v.Sentence})
	for _, line := range at.Lines(v) {
		r.voice.Warn("%s", line)
	}
}

// apartFrom leaves the ranks that lived when one had failed, and of which is known that
// nobody had told them to end: a handler of SIGTERM is no place to be blamed for. missing
// stands for the other ranks: what they did is not known.
func apartFrom(s hang.Standing, failed verdict.RankEnd, ends []verdict.RankEnd) (rest hang.Standing, missing []stacks.Rank) {
	rest = s
	rest.Ranks = nil
	type place struct {
		worker string
		pid    int
	}
	counted := map[place]bool{{failed.Worker, failed.PID}: true}
	unknown := func(at place) {
		if !counted[at] {
			counted[at] = true
			missing = append(missing, stacks.Rank{})
		}
	}
	for _, r := range s.Ranks {
		at := place{r.Worker, r.Record.Process.PID}
		switch {
		case r.Number < 0 || counted[at]:
		case r.Record.NoTerm:
			rest.Ranks, counted[at] = append(rest.Ranks, r), true
		default:
			unknown(at)
		}
	}
	for _, r := range ends {
		unknown(place{r.Worker, r.PID})
	}
	return rest, missing
}
