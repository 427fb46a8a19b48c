//go:build linux

package launch

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/wire"
)

// goingDown is a worker that was told to stop from outside and holds daemons of an mpirun, or
// ranks of a group, or of horovodrun or another launcher. All ranks end when one is lost, so all
// are asked to save.
type goingDown struct {
	worker string
	until  time.Time // when the worker kills what lives
}

// noteLeaving takes down that a worker is going down, for takeLeaving.
func (l *links) noteLeaving(worker string, rec wire.ReportRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaving == nil {
		l.leaving = &goingDown{worker, time.Now().Add(time.Duration(rec.GraceMillis-rec.AgoMillis) * time.Millisecond)}
	}
}

// takeLeaving returns the worker that has told of its stop since the last call, nil for none.
func (l *links) takeLeaving() *goingDown {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.leaving
	l.leaving = nil
	return one
}

// onGoingDown begins the stop of a command one of whose daemons is about to go: true when that
// changed how the command is to end. All ranks have what is left of that worker's grace.
func (s *supervisor) onGoingDown(now time.Time) (changed bool) {
	one := s.links.takeLeaving()
	return one != nil && s.letGo(one, now)
}

// letGo is onGoingDown for that worker.
func (s *supervisor) letGo(one *goingDown, now time.Time) (changed bool) {
	grace := one.until.Sub(now)
	if s.spares && s.roster == nil || s.roster != nil && !s.roster.needed || !s.ending.onGoingDown(grace) {
		return false
	}
	s.tally.preempt(one.worker)
	s.goingDown, s.ended = one, true
	if s.roster != nil {
		s.anew = "worker " + one.worker + " left"
	}
	ranks, later := s.cmd.leave(one.worker, grace)
	if s.counted = later; later == nil {
		s.sayStopping(ranks)
	}
	return true
}

// lead asks the ranks of a worker that leaves: it has told so, or will, and holds everything else.
func (r *runner) lead(ctx context.Context, worker string, grace time.Duration) {
	if l := r.links.linkOf(worker); l != nil {
		ctx, cancel := context.WithTimeout(ctx, min(countTime, grace/2))
		defer cancel()
		_, _ = l.EndRanks(ctx, wire.EndRanksRecord{Number: r.links.stops.Add(1), Signal: int(syscall.SIGTERM), GraceMillis: grace.Milliseconds()}) // one that is too old asks them itself
	}
}

// isGoing reports whether the worker for which the command was stopped is not known to be lost yet.
func (s *supervisor) isGoing() bool {
	return s.goingDown != nil && s.roster == nil && !s.known(s.goingDown.worker)
}

// why says what has told the command to stop.
func (s *supervisor) why() string {
	if s.ending.told == 0 && s.goingDown != nil {
		return fmt.Sprintf("worker %s was told to stop", s.goingDown.worker)
	}
	return phrase.SignalName(s.ending.told)
}

// graceNow is the time from the first signal to KILL.
func (s *supervisor) graceNow() time.Duration {
	if s.ending.told == 0 && s.goingDown != nil {
		return max(0, time.Until(s.goingDown.until)).Round(time.Second)
	}
	return s.cfg.Grace
}
