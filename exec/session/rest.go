//go:build linux

package session

import (
	"cmp"
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
)

const (
	// restTold is how long the end of a failed first process waits for the output of
	// what it has left behind.
	restTold = time.Second
	// lastWork is how long before the end of a process that exits its last work began:
	// what it has started since may be there to save something.
	lastWork = 2 * time.Second
)

// stopRest stops what a first process, which failed with st at that time, has left
// behind: TERM, and KILL after the grace. The end of the session is told before, if
// that takes longer than restTold. It returns at once.
func (x *session) stopRest(st reap.Status, at time.Time) {
	s := x.srv
	done := make(chan struct{})
	s.mu.Lock()
	x.rest = done
	grace := cmp.Or(s.grace, s.cfg.Grace)
	s.mu.Unlock()
	var since time.Time
	if st.Signal == 0 {
		since = at.Add(-lastWork)
	}
	s.wg.Go(func() {
		s.observer.lookAt(x) // what ended before was not our doing
		x.ours.Store(true)
		ctx, cancel := s.stops.patience(grace + proc.KillMargin)
		defer cancel()
		tell := time.AfterFunc(restTold, x.leave)
		if _, err := s.cfg.Reaper.Rest(ctx, x.tree.Find, since, grace); err != nil && !s.stops.hurried() {
			s.cfg.Log.Warn("stop what a failed process left behind", "session", x.id, "err", err)
		}
		tell.Stop()
		close(done)
		x.endOutput()
		s.settle()
	})
}

// restStop is closed when what a failed first process left behind has been stopped;
// nil: nothing was.
func (x *session) restStop() <-chan struct{} {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	return x.rest
}
