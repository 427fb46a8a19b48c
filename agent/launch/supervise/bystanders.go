//go:build linux

package supervise

import (
	"context"
	"slices"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/agent/stacks"
)

// Bystanders are the ranks of an mpirun that are alive when another one has failed. Their stacks
// are taken at once, because the mpirun will end them: Open MPI sends TERM a second later, and
// Hydra sends KILL without delay. A nil Bystanders does nothing.
type Bystanders struct {
	*hang.Witness
	news chan struct{} // has a token when a rank has failed
}

// NewBystanders returns the Bystanders of a command that h watches, or nil if stacks are not
// wanted. spawn runs its questions in goroutines.
func NewBystanders(cfg config.Config, spawn func(func()), askers func() map[string]hang.Asker, h *hang.Watch, t *tally.Tally) *Bystanders {
	if cfg.Stacks == config.StacksNever || cfg.Rule() != verdict.ExitStrict {
		return nil
	}
	b := &Bystanders{Witness: hang.NewWitness(spawn, askers, h), news: make(chan struct{}, 1)}
	t.HearFailed(func() { wait.Token(b.news) })
	return b
}

// due returns a channel with a token when a rank has failed and no stacks have been taken yet.
func (b *Bystanders) due() <-chan struct{} {
	if b == nil || b.Begun() {
		return nil
	}
	return b.news
}

// onFailedRank begins to take the stacks of the others, unless we end the command ourselves.
func (s *Supervisor) onFailedRank(ctx context.Context) {
	if p := s.ending.phase; !p.told() && !p.lost() && !p.going() && !s.ending.asked && s.Hung == "" {
		s.Bystanders.Begin(ctx)
	}
}

// found waits until the stacks are taken, at most FailureStacks after the failure.
func (b *Bystanders) found() (hang.Standing, bool) {
	if b == nil || !b.Begun() {
		return hang.Standing{}, false
	}
	return b.Found(), true
}

// Blame says which rank the failed rank was waiting for, if its last words and the stacks of the
// others show that. Otherwise lines is empty.
func (b *Bystanders) Blame(e verdict.Evidence, lastWords []string) (sentence string, lines []string) {
	failed, known := verdict.FirstOfItself(e)
	if !known || e.Told != 0 || len(e.Lost) > 0 {
		return "", nil
	}
	f := stacks.Failure{Sentence: "rank " + failed.Rank + " on " + failed.Worker + " " + phrase.HowEnded(failed.Code, failed.Signal), Tail: lastWords, Mixed: true}
	if stacks.OfFailure(f, nil).Sentence == "" {
		return "", nil // the stacks of ranks that are fine explain no failure, so do not wait for them
	}
	at, found := b.found()
	at, missing := apartFrom(at, failed, e.Ranks)
	if !found || len(at.Unknown) > 0 || !at.Told() {
		return "", nil
	}
	v := stacks.OfFailure(f, slices.Concat(at.Ranks, missing))
	return v.Sentence, at.Lines(v)
}

// apartFrom returns the ranks that were alive when one had failed, and that are known not to have
// been told to end. The others may be in a handler of SIGTERM, which must not be blamed. missing
// has an entry for each of the others, because it is unknown what they did.
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
