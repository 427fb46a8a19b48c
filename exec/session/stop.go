//go:build linux

package session

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// killMargin is how long after the grace a stop waits for the kernel to end
// what was killed; a process in uninterruptible sleep may take longer.
const killMargin = 10 * time.Second

// patience is a context for a stop: it ends after d, or when Stop says that
// there is no time left.
func (s *Server) patience(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	s.wg.Go(func() {
		select {
		case <-s.hurry:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

func (s *Server) hurried() bool {
	select {
	case <-s.hurry:
		return true
	default:
		return false
	}
}

// stopSession ends every member of x: TERM, after grace KILL. It returns at once.
func (s *Server) stopSession(x *session, grace time.Duration) {
	s.wg.Go(func() {
		s.lookAt(x) // what ended before was not our doing
		x.ours.Store(true)
		ctx, cancel := s.patience(grace + killMargin)
		defer cancel()
		x.awaitStart(ctx)
		if s.draining(ctx, grace) {
			grace = 0
		}
		if _, err := s.cfg.Reaper.Stop(ctx, x.tree.Find, grace); err != nil && !s.hurried() {
			s.cfg.Log.Warn("stop session", "session", x.id, "err", err)
		}
		x.endOutput()
		s.settle()
	})
}

// draining waits, for grace at most, for the end of a stop that has come from
// outside: its processes have been asked to end, and may be saving their work; to be
// asked once more would come in its way. False: there is no such stop.
func (s *Server) draining(ctx context.Context, grace time.Duration) bool {
	s.mu.Lock()
	done := s.fences[wire.ReasonPreempted]
	s.mu.Unlock()
	if done == nil {
		return false
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-done:
	case <-over.C:
	case <-ctx.Done():
	}
	return true
}

// stopAllLocked ends every session for reason, and then everything that
// descends from this process: what emptied its environment and left its parent
// is found that way. People's own shells have another parent and are spared.
// The stop is entered in s.fences until it is over. sig is what a preempted
// session is asked with. Called with s.mu held.
func (s *Server) stopAllLocked(reason string, sig syscall.Signal, grace time.Duration) <-chan struct{} {
	if done, ok := s.fences[reason]; ok {
		return done
	}
	var all []*session
	for _, x := range s.sessions {
		x.ours.Store(true)
		if x.exit == nil && x.reason == "" {
			x.reason = reason
		}
		all = append(all, x)
	}
	done := make(chan struct{})
	if s.fences == nil {
		s.fences = map[string]chan struct{}{}
	}
	s.fences[reason] = done
	s.wg.Go(func() {
		s.stopTrees(all, reason, sig, grace)
		for _, x := range all {
			x.endOutput()
		}
		s.mu.Lock()
		delete(s.fences, reason)
		s.mu.Unlock()
		s.settle()
		close(done)
	})
	return done
}

// stopTrees stops the processes of all, and then what else is below us.
func (s *Server) stopTrees(all []*session, reason string, sig syscall.Signal, grace time.Duration) {
	ctx, cancel := s.patience(grace + killMargin)
	defer cancel()
	for _, x := range all {
		x.awaitStart(ctx) // what starts late must not be missed
	}
	stop := s.cfg.Reaper.Stop
	if reason == wire.ReasonPreempted {
		// The ranks first, so that they can write a checkpoint before the
		// daemons above them take them down.
		stop = func(ctx context.Context, find func() ([]reap.Proc, error), grace time.Duration) (reap.Report, error) {
			return s.cfg.Reaper.Drain(ctx, find, sig, grace)
		}
	}
	if len(all) > 0 {
		if report, err := stop(ctx, func() ([]reap.Proc, error) { return members(all) }, grace); err != nil && !s.hurried() {
			s.cfg.Log.Warn("stop sessions", "reason", reason, "left", report.Left, "err", err)
		}
	}
	find := func() ([]reap.Proc, error) {
		procs, err := reap.Scan(names.EnvSession)
		return reap.Below(procs, os.Getpid()), err
	}
	report, err := s.cfg.Reaper.Stop(ctx, find, min(grace, time.Second))
	if s.hurried() {
		kill, cancel := context.WithTimeout(context.Background(), killMargin)
		defer cancel()
		report, err = s.cfg.Reaper.Stop(kill, find, 0)
	}
	if err != nil {
		s.cfg.Log.Warn("stop what is left", "reason", reason, "left", report.Left, "err", err)
	}
}

// members are the processes of all, each once.
func members(all []*session) ([]reap.Proc, error) {
	seen := map[int]bool{}
	var found []reap.Proc
	for _, x := range all {
		tree, err := x.tree.Find()
		if err != nil {
			return nil, err
		}
		for _, p := range tree {
			if !seen[p.PID] {
				seen[p.PID] = true
				found = append(found, p)
			}
		}
	}
	return found, nil
}

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

// Preempt is Stop for a worker that sig told to end: the ranks are asked first,
// and with sig, so that a program which writes its checkpoint on INT does.
func (s *Server) Preempt(ctx context.Context, sig syscall.Signal, grace time.Duration) {
	s.stop(ctx, wire.ReasonPreempted, sig, grace)
}

func (s *Server) stop(ctx context.Context, reason string, sig syscall.Signal, grace time.Duration) {
	s.mu.Lock()
	s.ending = true
	done := s.stopAllLocked(reason, sig, grace)
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		s.rush()
		<-done // within killMargin
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

// undelivered reports whether a launcher lacks the end of a session: one that
// is there, or may redial.
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
	return false
}

// endJob carries out END: the answer ENDED means that nothing of the job runs.
func (s *Server) endJob(c *conn, rec wire.EndRecord) error {
	s.mu.Lock()
	if s.conn != c {
		s.mu.Unlock()
		return errStale
	}
	s.ending = s.ending || !rec.Keep // one that goes down for another reason still does
	done := s.stopAllLocked(wire.ReasonStopped, syscall.SIGTERM, graceOf(rec.GraceMillis))
	s.mu.Unlock()
	s.wg.Go(func() {
		<-done
		c.push(wire.Frame{Type: wire.Ended})
		if !rec.Keep {
			c.flush()
			c.part() // with PID 1 the bridge dies, and what it has not yet passed on
			s.over(JobOver)
		}
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
		s.lookAt(x)
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
