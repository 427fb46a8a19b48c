//go:build linux

package session

import (
	"cmp"
	"context"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// redialTime is how long a stop waits for a launcher whose link is down, to deliver the sessions'
// ends.
const redialTime = 2 * time.Second

// Stop accepts no more sessions and ends the existing ones for reason. It returns when no process
// is left and the launcher has their ends, or is not connected. If ctx ends, Stop kills the
// remaining processes and returns when they have ended.
func (s *Server) Stop(ctx context.Context, reason string, grace time.Duration) {
	s.stop(ctx, reason, syscall.SIGTERM, grace)
}

// Grace returns the time between TERM and KILL that the launcher wants for its processes, or 0 if
// there is no launcher or it did not specify one.
func (s *Server) Grace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grace
}

// graceLocked returns the time between TERM and KILL for a stop that no launcher asks for. The caller
// holds s.mu.
func (s *Server) graceLocked() time.Duration { return cmp.Or(s.grace, s.cfg.Grace) }

// PodGrace returns the termination grace period of our pod, or 0 if no launcher has reported it.
func (s *Server) PodGrace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podGrace
}

// Preempt is Stop for a worker that sig told to end. The ranks are asked first, and with sig, so
// that a program that writes its checkpoint on INT does so.
func (s *Server) Preempt(ctx context.Context, sig syscall.Signal, grace time.Duration) {
	s.stop(ctx, wire.ReasonPreempted, sig, grace)
}

func (s *Server) stop(ctx context.Context, reason string, sig syscall.Signal, grace time.Duration) {
	s.mu.Lock()
	s.ending = true
	done := s.stops.allLocked(reason, sig, grace)
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		s.stops.rush()
		<-done // within KillMargin
		return
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for stopped := time.Now(); s.undelivered(time.Since(stopped) < redialTime); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// undelivered reports whether a launcher lacks the end of a session, or the answer to its END or to
// its order to ask ranks. The launcher must be connected, or may redial if mayRedial is set.
func (s *Server) undelivered(mayRedial bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil && !mayRedial {
		return false
	}
	for _, x := range s.sessions {
		if !x.forgotten {
			return true
		}
	}
	return s.owed > 0
}

// endJob handles END. The answer ENDED means that no process of the job is running.
func (s *Server) endJob(c *conn, rec wire.EndRecord) error {
	s.mu.Lock()
	if s.conn != c {
		s.mu.Unlock()
		return errStale
	}
	s.ending = s.ending || !rec.Keep // a worker that is going down for another reason still does
	s.owed++
	done := s.stops.allLocked(wire.ReasonStopped, syscall.SIGTERM, graceOf(rec.GraceMillis))
	s.mu.Unlock()
	s.wg.Go(func() {
		<-done
		c.push(wire.Frame{Type: wire.Ended})
		c.flush()
		if !rec.Keep {
			c.part() // the bridge dies with PID 1, and loses what it has not passed on yet
			if rec.Replace {
				s.mu.Lock()
				s.why = rec.Why
				s.mu.Unlock()
				s.over(Replaced)
			} else {
				s.over(JobOver)
			}
		}
		s.mu.Lock()
		s.owed--
		s.mu.Unlock()
	})
	return nil
}

// ReplacedWhy returns the launcher's word for why it wants another worker, once the Outcome is
// Replaced. It may be any text.
func (s *Server) ReplacedWhy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

func (s *Server) over(o Outcome) {
	select {
	case s.outcome <- o:
	default:
	}
}

// settle drops detached sessions whose last process has ended.
func (s *Server) settle() {
	s.mu.Lock()
	var waiting []*session
	for _, x := range s.sessions {
		if x.phase == detached {
			waiting = append(waiting, x)
		}
	}
	s.mu.Unlock()
	for _, x := range waiting {
		s.observer.lookAt(x)
		members, err := x.tree.Find()
		if err != nil {
			s.cfg.Log.Warn("cannot find the processes of a session", "session", x.id, "err", err)
			continue
		}
		alive := false
		for _, m := range members {
			alive = alive || m.Alive()
		}
		if alive {
			continue
		}
		s.mu.Lock()
		if x.phase == detached { // another settle may have been faster
			x.enter(ended)
			s.dropLocked(x)
		}
		s.mu.Unlock()
		x.endOutput()
	}
	s.kick()
}
