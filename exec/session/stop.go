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

// stopSession ends every member of x: TERM, its ranks first, and after grace KILL. It
// returns at once.
func (s *Server) stopSession(x *session, grace time.Duration) {
	s.wg.Go(func() {
		s.observer.lookAt(x) // what ended before was not our doing
		x.ours.Store(true)
		s.mu.Lock()
		s.freeLocked()
		s.mu.Unlock()
		ctx, cancel := s.patience(grace + proc.KillMargin)
		defer cancel()
		x.awaitStart(ctx)
		if s.awaitStop(ctx, s.preempting(), grace) || s.awaitStop(ctx, x.restStop(), grace) {
			grace = 0
		}
		if grace == 0 {
			x.noteKilled()
		}
		if _, err := s.cfg.Reaper.DrainTelling(ctx, x.tree.Find, syscall.SIGTERM, grace, s.asked(), x.noteAsked); err != nil && !s.hurried() {
			s.cfg.Log.Warn("stop session", "session", x.id, "err", err)
		}
		x.endOutput()
		s.settle()
	})
}

// preempting returns a channel that is closed at the end of a stop that has come from
// outside; nil: there is none.
func (s *Server) preempting() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fences[wire.ReasonPreempted]
}

// awaitStop waits, for grace at most, for the end of a stop that is under way: its
// processes have been asked to end, and may be saving their work. Another TERM would
// come in their way. It returns false at once if stop is nil.
func (s *Server) awaitStop(ctx context.Context, stop <-chan struct{}, grace time.Duration) bool {
	if stop == nil {
		return false
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-stop:
	case <-over.C:
	case <-ctx.Done():
	}
	return true
}

// stopAllLocked ends every session for reason, and then everything that
// descends from this process: what emptied its environment and left its parent
// is found that way. People's own shells have another parent and are spared.
// The stop is entered in s.fences until it is over. sig is what ranks are asked with. Called with s.mu held.
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
	if s.saving != nil && reason != wire.ReasonPreempted {
		s.saving.cancel()
	}
	s.freeLocked()
	var going *leaving
	if reason == wire.ReasonPreempted {
		going = newLeaving()
		s.leaving = going
	}
	done := make(chan struct{})
	if s.fences == nil {
		s.fences = map[string]chan struct{}{}
	}
	s.fences[reason] = done
	s.wg.Go(func() {
		s.stopTrees(all, reason, going, sig, grace)
		for _, x := range all {
			x.endOutput()
		}
		s.mu.Lock()
		delete(s.fences, reason)
		if going != nil {
			going.end()
			s.leaving = nil
		}
		s.mu.Unlock()
		s.settle()
		close(done)
	})
	return done
}

// stopTrees stops the processes of all, ranks first, and then what else is below us.
// What a failed process has left behind is not asked again: unless grace is 0, it has
// what is left of its own. going is the stop if it has come from outside; else nil.
func (s *Server) stopTrees(all []*session, reason string, going *leaving, sig syscall.Signal, grace time.Duration) {
	began := time.Now()
	ctx, cancel := s.patience(grace + proc.KillMargin)
	defer cancel()
	for _, x := range all {
		x.awaitStart(ctx) // what starts late must not be missed
	}
	var live []*session
	var asked []<-chan struct{}
	for _, x := range all {
		if rest := x.restStop(); rest != nil && grace > 0 {
			asked = append(asked, rest)
		} else {
			live = append(live, x)
		}
	}
	if going != nil {
		grace = s.awaitSaving(ctx, grace)
	}
	if len(live) > 0 {
		s.stopLive(ctx, live, reason, going, sig, grace)
	} else if going != nil {
		going.asked()
	}
	for _, rest := range asked {
		select {
		case <-rest: // it has a limit of its own
		case <-s.hurry:
		}
	}
	s.stopBelow(reason, proc.RestGrace(grace, began))
}

// stopLive stops the processes of sessions whose ranks nobody has asked to end.
func (s *Server) stopLive(ctx context.Context, live []*session, reason string, going *leaving, sig syscall.Signal, grace time.Duration) {
	find := membersOf(live)
	s.sayStopping(reason, find, sig, grace)
	tell := live[0].noteAsked
	if len(live) > 1 {
		tell = func([]reap.Outcome) {} // whose rank is which is not looked for
	}
	var report reap.Report
	var err error
	if going != nil && grace > 0 && ledElsewhere(live) {
		report, err = s.drain(ctx, going, find, sig, grace, tell)
	} else {
		if going != nil {
			going.asked() // nobody is told more of its ranks than when they have ended
		}
		report, err = s.cfg.Reaper.DrainTelling(ctx, find, sig, grace, s.asked(), tell)
	}
	if err != nil && !s.hurried() {
		s.cfg.Log.Warn("stop sessions", "reason", reason, "left", report.Left, "err", err)
	}
	s.sayStopped(reason, report.Ranks)
}

// stopBelow stops what descends from us and belongs to no session any more.
func (s *Server) stopBelow(reason string, grace time.Duration) {
	ctx, cancel := s.patience(grace + proc.KillMargin)
	defer cancel()
	report, err := s.cfg.Reaper.Drain(ctx, proc.Below, syscall.SIGTERM, grace)
	if s.hurried() {
		report, err = proc.KillBelow(s.cfg.Reaper)
	}
	if err != nil {
		s.cfg.Log.Warn("stop what is left", "reason", reason, "left", report.Left, "err", err)
	}
}

// membersOf returns a function that finds the processes of all sessions, each once.
func membersOf(all []*session) func() ([]reap.Proc, error) {
	trees := make([]*reap.Tree, 0, len(all))
	for _, x := range all {
		trees = append(trees, x.tree)
	}
	return func() ([]reap.Proc, error) { return proc.Members(trees) }
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
	done := s.stopAllLocked(reason, sig, grace)
	s.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		s.rush()
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
	done := s.stopAllLocked(wire.ReasonStopped, syscall.SIGTERM, graceOf(rec.GraceMillis))
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
