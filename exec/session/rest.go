//go:build linux

package session

import (
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
)

const (
	// restTold is how long the end of a failed first process waits for the output of the processes
	// that it has left behind.
	restTold = time.Second
	// lastWork is how long before its exit a process may have started its last work: processes
	// started since then may be there to save something.
	lastWork = 2 * time.Second
)

// stopRest stops the processes that a first process has left behind, after it failed with st at the
// time at: TERM, and KILL after the grace. If that takes longer than restTold, the end of the
// session is reported before. stopRest returns at once.
func (x *session) stopRest(st reap.Status, at time.Time) {
	s := x.srv
	done := make(chan struct{})
	s.mu.Lock()
	x.rest = done
	grace := s.graceLocked()
	s.mu.Unlock()
	var since time.Time
	if st.Signal == 0 {
		since = at.Add(-lastWork)
	}
	s.wg.Go(func() {
		s.observer.lookAt(x) // earlier ends were not caused by us
		x.ours.Store(true)
		ctx, cancel := s.stops.patience(grace + proc.KillMargin)
		defer cancel()
		tell := time.AfterFunc(restTold, x.leave)
		if _, err := s.cfg.Reaper.Rest(ctx, x.tree.Find, since, grace); err != nil && !s.stops.hurried() {
			s.cfg.Log.Warn("cannot stop the processes that a failed process left", "session", x.id, "err", err)
		}
		tell.Stop()
		close(done)
		x.endOutput()
		s.settle()
	})
}

// restStop returns a channel that is closed when the processes that a failed first process left
// behind have been stopped. It returns nil if there is no such stop.
func (x *session) restStop() <-chan struct{} {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	return x.rest
}
