//go:build linux

package reap

import (
	"context"
	"syscall"
	"time"
)

// Hold keeps MPI daemons alive during a Drain. Their mpirun runs elsewhere, and ends the ranks on
// all machines when it loses a daemon.
type Hold struct {
	// Until is closed when the daemons may be asked.
	Until <-chan struct{}
	// Asked is called once with the savers (Savers), before they are asked.
	Asked func(ranks []Proc)
	// Saved is called once when the ranks have ended, or when the last part of the grace begins.
	// living counts the live ranks, including those that were not asked.
	Saved func(outcomes []Outcome, living int)
}

// DrainHolding is DrainTelling in two parts. It first asks only the savers (Savers), and the others
// when h.Until is closed or when the last part of grace begins. A rank that does not handle sig
// would die of it, which its mpirun treats as a failure.
func (r *Reaper) DrainHolding(ctx context.Context, find func() ([]Proc, error), sig syscall.Signal, grace time.Duration, tell func([]Outcome), h Hold) (Report, error) {
	s := newStop(r, find, grace)
	s.watched.tell = tell
	s.ordered = true
	start := time.Now()
	err := s.savers(ctx, sig, start.Add(alone(sig, grace)), h.Asked)
	living := 0
	if alive, serr := s.scan(); serr == nil {
		living = len(Apart(Ranks(alive, sig)))
	}
	h.Saved(s.watched.all, living)
	if err == nil {
		err = s.hold(ctx, h.Until)
	}
	if err == nil {
		err = s.finish(ctx, start.Add(grace))
	}
	if err != nil { // a rank may have ended since the last scan
		_, _ = s.scan()
	}
	s.report.Ranks = s.watched.all
	return s.report, err
}

// hold waits until the channel is closed, all processes have ended, or the last part of the grace
// begins.
func (s *stop) hold(ctx context.Context, until <-chan struct{}) error {
	s.pause = firstPause
	for time.Now().Before(s.sparing) {
		select {
		case <-until:
			return nil
		default:
		}
		woken := s.r.nextReap()
		alive, err := s.scan()
		if err != nil || len(alive) == 0 {
			return err
		}
		if err := s.wait(ctx, woken, s.sparing); err != nil {
			return err
		}
	}
	return nil
}
