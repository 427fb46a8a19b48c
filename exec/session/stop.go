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

// stopSession ends every member of x: TERM, after grace KILL. It returns at once.
func (s *Server) stopSession(x *session, grace time.Duration) {
	s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace+killMargin)
		defer cancel()
		x.awaitStart(ctx)
		if _, err := s.cfg.Reaper.Stop(ctx, x.tree.Find, grace); err != nil {
			s.cfg.Log.Warn("stop session", "session", x.id, "err", err)
		}
		x.endOutput()
		s.settle()
	})
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
	var trees []*reap.Tree
	var all []*session
	for _, x := range s.sessions {
		if x.exit == nil && x.reason == "" {
			x.reason = reason
		}
		trees, all = append(trees, x.tree), append(all, x)
	}
	done := make(chan struct{})
	if s.fences == nil {
		s.fences = map[string]chan struct{}{}
	}
	s.fences[reason] = done
	s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace+killMargin)
		defer cancel()
		for _, x := range all {
			x.awaitStart(ctx) // what starts late must not be missed
		}
		s.stopTrees(ctx, trees, reason, sig, grace)
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

func (s *Server) stopTrees(ctx context.Context, trees []*reap.Tree, reason string, sig syscall.Signal, grace time.Duration) {
	find := func() ([]reap.Proc, error) {
		procs, err := reap.Scan(names.EnvSession)
		return reap.Below(procs, os.Getpid()), err
	}
	stop := s.cfg.Reaper.Stop
	if reason == wire.ReasonPreempted {
		// The ranks first, so that they can write a checkpoint before the
		// daemons above them take them down.
		stop = func(ctx context.Context, find func() ([]reap.Proc, error), grace time.Duration) (reap.Report, error) {
			return s.cfg.Reaper.Drain(ctx, find, sig, grace)
		}
	}
	members := func() ([]reap.Proc, error) {
		seen := map[int]bool{}
		var all []reap.Proc
		for _, t := range trees {
			found, err := t.Find()
			if err != nil {
				return nil, err
			}
			for _, p := range found {
				if !seen[p.PID] {
					seen[p.PID] = true
					all = append(all, p)
				}
			}
		}
		return all, nil
	}
	if len(trees) > 0 {
		if report, err := stop(ctx, members, grace); err != nil {
			s.cfg.Log.Warn("stop sessions", "reason", reason, "left", report.Left, "err", err)
		}
	}
	if report, err := s.cfg.Reaper.Stop(ctx, find, min(grace, time.Second)); err != nil {
		s.cfg.Log.Warn("stop what is left", "reason", reason, "left", report.Left, "err", err)
	}
}

// redialTime is how long a stop waits for a launcher whose link is down at the
// moment, to give it the sessions' ends.
const redialTime = 2 * time.Second

// Stop takes no more sessions, ends all there are for reason, and returns when
// nothing is left and the launcher has their ends, or is not there, or when ctx
// ends.
func (s *Server) Stop(ctx context.Context, reason string, grace time.Duration) {
	s.stop(ctx, reason, syscall.SIGTERM, grace)
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
	s.ending = !rec.Keep
	done := s.stopAllLocked(wire.ReasonStopped, syscall.SIGTERM, time.Duration(rec.GraceMillis)*time.Millisecond)
	s.mu.Unlock()
	s.wg.Go(func() {
		<-done
		c.push(wire.Frame{Type: wire.Ended})
		if !rec.Keep {
			c.flush()
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
	}
	s.kick()
}
