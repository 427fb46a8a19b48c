//go:build linux

package session

import (
	"context"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// redialTime is how long a stop waits for a launcher whose link is down at the
// moment, to give it the sessions' ends.
const redialTime = 2 * time.Second

// Stop takes no more sessions, ends all there are for reason, and returns when
// nothing is left and the launcher has their ends, or is not there. When ctx ends
// it kills what lives still, and returns when that has ended.
func (s *Server) Stop(ctx context.Context, reason string, grace time.Duration) {
	s.stop(ctx, reason, syscall.SIGTERM, grace)
}

// Grace is the time between TERM and KILL that the launcher wants for its processes;
// 0: there is no launcher, or it did not say.
func (s *Server) Grace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grace
}

// PodGrace is the time that the kubelet gives our pod to end; 0: no launcher has said.
func (s *Server) PodGrace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podGrace
}

// Preempt is Stop for a worker that sig told to end: the ranks are asked first,
// and with sig, so that a program which writes its checkpoint on INT does.
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

// undelivered reports whether a launcher lacks the end of a session, or the answer
// to its END: one that is there, or may redial.
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

// endJob carries out END: the answer ENDED means that nothing of the job runs.
func (s *Server) endJob(c *conn, rec wire.EndRecord) error {
	s.mu.Lock()
	if s.conn != c {
		s.mu.Unlock()
		return errStale
	}
	s.ending = s.ending || !rec.Keep // one that goes down for another reason still does
	s.owed++
	done := s.stops.allLocked(wire.ReasonStopped, syscall.SIGTERM, graceOf(rec.GraceMillis))
	s.mu.Unlock()
	s.wg.Go(func() {
		<-done
		c.push(wire.Frame{Type: wire.Ended})
		c.flush()
		if !rec.Keep {
			c.part() // with PID 1 the bridge dies, and what it has not yet passed on
			s.over(JobOver)
		}
		s.mu.Lock()
		s.owed--
		s.mu.Unlock()
	})
	return nil
}

func (s *Server) over(o Outcome) {
	select {
	case s.outcome <- o:
	default:
	}
}

// settle drops detached sessions whose last member has ended.
func (s *Server) settle() {
	s.mu.Lock()
	var detached []*session
	for _, x := range s.sessions {
		if x.detached {
			detached = append(detached, x)
		}
	}
	s.mu.Unlock()
	for _, x := range detached {
		s.observer.lookAt(x)
		members, err := x.tree.Find()
		if err != nil {
			s.cfg.Log.Warn("look for members", "session", x.id, "err", err)
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
		x.detached = false
		s.dropLocked(x)
		s.mu.Unlock()
		x.endOutput()
	}
	s.kick()
}
