//go:build linux

package session

import (
	"context"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// Orphaned tells the Server that a process which it did not start has ended on this worker: a
// daemon, or the last process of a detached session. It does not block.
func (s *Server) Orphaned(pid int, st reap.Status) {
	s.observer.orphaned(pid, st)
	select {
	case s.orphans <- struct{}{}:
	default:
	}
}

// clock enforces the lease and the wait for a launcher. It sleeps until the next deadline, so that
// an idle worker does not wake up.
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

// due carries out what is due, and returns the time until the next deadline. It returns false if
// there is no deadline.
func (s *Server) due() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return 0, false
	}
	if s.swept && s.stops.fences[wire.ReasonLease] != nil {
		return 0, false // the end of that stop kicks
	}
	limit, what := s.cfg.Await, "await"
	if s.claimed && limit > 0 {
		// A launcher that has parked its link is silent for most of its lease.
		limit = max(limit, s.lease)
	}
	if s.claimed && !s.swept && (limit <= 0 || s.lease < limit) {
		// Processes that escaped from a session that has ended also end with the lease.
		limit, what = s.lease, "sweep"
	}
	for _, x := range s.sessions {
		// After a sweep, only the output of a session can be left, or what the kernel does not release.
		if x.lives() && !s.swept {
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
		s.cfg.Log.Warn("lost the launcher: nothing heard for the whole lease, stopping its sessions", "lease", s.lease)
	}
	s.swept = true
	s.stops.allLocked(wire.ReasonLease, syscall.SIGTERM, s.graceLocked())
	return 0, false // when they have ended, the wait for a launcher counts
}

// longestLease limits a lease to what a Duration can hold, whatever a record says.
const longestLease = 30 * 24 * time.Hour

// graceOf limits a grace in the same way: an overflow would end the stop before it began.
func graceOf(millis int64) time.Duration {
	return time.Duration(min(max(millis, 0), int64(longestLease/time.Millisecond))) * time.Millisecond
}

func leaseOf(seconds int) time.Duration {
	return time.Duration(min(max(seconds, 1), int(longestLease/time.Second))) * time.Second
}
