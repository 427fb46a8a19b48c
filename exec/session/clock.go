//go:build linux

package session

import (
	"context"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// Orphaned tells the Server that a process which it did not start has ended
// here: a daemon, or the last of a detached session. It does not wait.
func (s *Server) Orphaned(pid int, st reap.Status) {
	s.observer.orphaned(pid, st)
	select {
	case s.orphans <- struct{}{}:
	default:
	}
}

// clock watches the lease and the wait for a launcher. It sleeps until the
// next instant that matters, so that an idle worker does not wake up.
func (s *Server) clock(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Stop()
		if d, ok := s.due(); ok {
			timer.Reset(d)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.nudge:
		case <-s.orphans:
			s.settle()
		case <-timer.C:
		}
	}
}

// due carries out what is due and returns how long nothing else will be.
func (s *Server) due() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return 0, false
	}
	limit, what := s.cfg.Await, "await"
	if s.claimed && limit > 0 {
		// A launcher that has parked its link says nothing for most of its lease.
		limit = max(limit, s.lease)
	}
	if s.claimed && !s.swept && (limit <= 0 || s.lease < limit) {
		// What has escaped from a session that has ended goes with the lease, too.
		limit, what = s.lease, "sweep"
	}
	for _, x := range s.sessions {
		if x.lives() {
			limit, what = s.lease, "lease"
		}
	}
	if limit <= 0 {
		return 0, false
	}
	if left := time.Until(s.heard.Add(limit)); left > 0 {
		return left, true
	}
	if what == "await" {
		s.over(NoLaunch)
		return 0, false
	}
	if what == "lease" {
		s.cfg.Log.Warn("no word from the launcher for the lease: stopping its sessions", "lease", s.lease)
	}
	s.swept = true
	s.stops.allLocked(wire.ReasonLease, syscall.SIGTERM, s.cfg.Grace)
	// The sessions' ends take a moment; then the wait for a launcher counts.
	return s.cfg.Grace + proc.KillMargin, true
}

// longestLease keeps a lease within what a Duration can hold, whatever a record says.
const longestLease = 30 * 24 * time.Hour

// graceOf keeps a grace within the same bounds: one that overflowed would end
// the stop before it began.
func graceOf(millis int64) time.Duration {
	return time.Duration(min(max(millis, 0), int64(longestLease/time.Millisecond))) * time.Millisecond
}

func leaseOf(seconds int) time.Duration {
	return time.Duration(min(max(seconds, 1), int(longestLease/time.Second))) * time.Second
}
