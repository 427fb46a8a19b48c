//go:build linux

package supervise

import (
	"context"
	"slices"
	"time"
)

// Living asks which ranks of an mpirun still run before a rule reports a silent rank. The launcher
// is not told of each rank that ends. A nil Living does nothing.
type Living struct {
	spawn  func(func())
	ranks  func(ctx context.Context) (alive []int, whole bool)
	found  chan living
	asking bool // a question is open
}

// living is an answer: the ranks that run, and whether these are all.
type living struct {
	ranks []int
	whole bool
}

// NewLiving returns a Living. ranks asks the workers for their ranks, and reports whether it returns
// all of them. spawn calls it in a goroutine.
func NewLiving(spawn func(func()), ranks func(ctx context.Context) (alive []int, whole bool)) *Living {
	return &Living{spawn: spawn, ranks: ranks, found: make(chan living, 1)}
}

// asks asks which ranks still run, if one is overdue. It returns true while the question is open.
func (l *Living) asks(ctx context.Context, overdue []int) bool {
	if l == nil || !l.asking && len(overdue) == 0 {
		return false
	}
	if !l.asking {
		l.asking = true
		l.spawn(func() {
			ctx, cancel := context.WithTimeout(ctx, placesTime)
			defer cancel()
			alive, whole := l.ranks(ctx)
			l.found <- living{alive, whole} // never blocks: one question at a time
		})
	}
	return true
}

// told returns a channel that gets the answer.
func (l *Living) told() <-chan living {
	if l == nil {
		return nil
	}
	return l.found
}

// onLiving judges the rules, which expect nothing more from ranks that have ended. An answer without
// any rank proves nothing: the workers may not know the numbers of their ranks.
func (s *Supervisor) onLiving(found living, now time.Time) (changed bool) {
	s.Living.asking = false
	for _, rank := range s.Progress.Overdue(now) {
		if found.whole && len(found.ranks) > 0 && !slices.Contains(found.ranks, rank) {
			s.Progress.Ended(rank, true)
		}
	}
	return s.judge(now)
}
