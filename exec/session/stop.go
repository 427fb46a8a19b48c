//go:build linux

package session

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// stopper carries out the stops of a server: of one session, of all sessions, and of ranks only.
//
// It has no lock of its own. A stop takes the existing sessions. A session that is opened meanwhile
// must either be among them or wait for the end of the stop. So Server.mu guards the current stops,
// as it guards the sessions.
type stopper struct {
	srv   *Server
	hurry chan struct{} // closed when no stop may take more time
	rush  func()        // closes hurry

	// The fields below are guarded by srv.mu.
	fences  map[string]chan struct{} // current stops, by reason; closed at the end of the stop
	saving  *saving                  // the last stop of ranks only; nil: none
	leaving *leaving                 // the current stop from outside; nil: none
}

func newStopper(s *Server) *stopper {
	hurry := make(chan struct{})
	return &stopper{srv: s, hurry: hurry, rush: sync.OnceFunc(func() { close(hurry) }), fences: map[string]chan struct{}{}}
}

// patience returns a context for a stop. It ends after d, or when there is no time left for any
// stop.
func (st *stopper) patience(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	st.srv.wg.Go(func() {
		select {
		case <-st.hurry:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, cancel
}

func (st *stopper) hurried() bool {
	select {
	case <-st.hurry:
		return true
	default:
		return false
	}
}

// session ends every process of x: TERM, ranks first, and KILL after grace. It returns at once.
func (st *stopper) session(x *session, grace time.Duration) {
	st.srv.wg.Go(func() {
		st.srv.observer.lookAt(x) // earlier ends were not caused by us
		x.ours.Store(true)
		st.srv.mu.Lock()
		st.freeLocked()
		st.srv.mu.Unlock()
		ctx, cancel := st.patience(grace + proc.KillMargin)
		defer cancel()
		x.outwait(ctx)
		if st.awaitStop(ctx, st.preempting(), grace) || st.awaitStop(ctx, x.restStop(), grace) {
			grace = 0
		}
		if grace == 0 {
			x.noteKilled()
		}
		if _, err := st.srv.cfg.Reaper.DrainTelling(ctx, x.tree.Find, syscall.SIGTERM, grace, x.noteAsked); err != nil && !st.hurried() {
			st.srv.cfg.Log.Warn("cannot stop a session", "session", x.id, "err", err)
		}
		x.endOutput()
		st.srv.settle()
	})
}

// preempting returns a channel that is closed at the end of a stop from outside, or nil if there is
// none.
func (st *stopper) preempting() <-chan struct{} {
	st.srv.mu.Lock()
	defer st.srv.mu.Unlock()
	return st.fences[wire.ReasonPreempted]
}

// awaitStop waits, for at most grace, for the end of another stop. The processes of that stop have
// been asked to end and may be saving their work, so another TERM would disturb them. awaitStop
// returns false at once if stop is nil.
func (st *stopper) awaitStop(ctx context.Context, stop <-chan struct{}, grace time.Duration) bool {
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

// allLocked ends every session for reason, and then everything that descends from this process.
// That includes processes that emptied their environment and left their parent. It spares people's
// own shells, which have another parent. fences has the stop until it is over. sig is the signal
// for ranks. The caller holds srv.mu.
func (st *stopper) allLocked(reason string, sig syscall.Signal, grace time.Duration) <-chan struct{} {
	if done, ok := st.fences[reason]; ok {
		return done
	}
	var all []*session
	for _, x := range st.srv.sessions {
		x.ours.Store(true)
		if x.lasts() && x.reason == "" {
			x.reason = reason
		}
		all = append(all, x)
	}
	if st.saving != nil && reason != wire.ReasonPreempted {
		st.saving.cancel()
	}
	st.freeLocked()
	var going *leaving
	if reason == wire.ReasonPreempted {
		going = newLeaving()
		st.leaving = going
	}
	done := make(chan struct{})
	st.fences[reason] = done
	st.srv.wg.Go(func() {
		st.trees(all, reason, going, sig, grace)
		for _, x := range all {
			x.endOutput()
		}
		st.srv.mu.Lock()
		delete(st.fences, reason)
		if going != nil {
			going.end()
			st.leaving = nil
		}
		st.srv.mu.Unlock()
		st.srv.settle()
		close(done)
	})
	return done
}

// trees stops the processes of all, ranks first, and then everything else below us. It does not ask
// the processes that a failed process left behind again: unless grace is 0, they have the rest of
// their own grace. going is the stop if it came from outside, else nil.
func (st *stopper) trees(all []*session, reason string, going *leaving, sig syscall.Signal, grace time.Duration) {
	began := time.Now()
	ctx, cancel := st.patience(grace + proc.KillMargin)
	defer cancel()
	awaitStarts(ctx, all)
	var live, late []*session
	var asked []<-chan struct{}
	for _, x := range all {
		switch rest := x.restStop(); {
		case rest != nil && grace > 0:
			asked = append(asked, rest)
		case x.starting():
			late = append(late, x)
		default:
			live = append(live, x)
		}
	}
	if going != nil {
		grace = st.awaitSaving(ctx, grace)
	}
	if len(live) > 0 {
		st.live(ctx, live, reason, going, sig, grace)
	} else if going != nil {
		going.asked()
	}
	for _, rest := range asked {
		select {
		case <-rest: // it has its own limit
		case <-st.hurry:
		}
	}
	for _, x := range late {
		x.outwait(ctx) // its processes must not be missed
	}
	st.below(reason, proc.RestGrace(grace, began))
}

// startTime is how long a stop of several sessions waits for their starts. A start hangs if the file
// system of its program does not answer, and the ranks of other sessions need their grace.
const startTime = time.Second

// awaitStarts waits until the processes of all sessions run or could not be started, for startTime at
// most.
func awaitStarts(ctx context.Context, all []*session) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, x := range all {
		x.awaitStart(ctx)
	}
}

// live stops the processes of sessions whose ranks have not been asked to end.
func (st *stopper) live(ctx context.Context, live []*session, reason string, going *leaving, sig syscall.Signal, grace time.Duration) {
	find := processesOf(live)
	st.sayStopping(reason, find, sig, grace)
	tell := live[0].noteAsked
	if len(live) > 1 {
		tell = func([]reap.Outcome) {} // with several sessions, ranks are not assigned to sessions
	}
	var report reap.Report
	var err error
	if going != nil && grace > 0 && ledElsewhere(live) {
		report, err = st.drain(ctx, going, find, sig, grace, tell)
	} else {
		if going != nil {
			going.asked() // the answer comes when the ranks have ended
		}
		report, err = st.srv.cfg.Reaper.DrainTelling(ctx, find, sig, grace, tell)
	}
	if err != nil && !st.hurried() {
		st.srv.cfg.Log.Warn("cannot stop all sessions", "reason", reason, "left", report.Left, "err", err)
	}
	st.sayStopped(reason, report.Ranks)
}

// below stops what descends from us and no longer belongs to a session.
func (st *stopper) below(reason string, grace time.Duration) {
	ctx, cancel := st.patience(grace + proc.KillMargin)
	defer cancel()
	report, err := st.srv.cfg.Reaper.Drain(ctx, proc.Below(st.srv.cfg.Reaper), syscall.SIGTERM, grace)
	if st.hurried() {
		report, err = proc.KillBelow(st.srv.cfg.Reaper)
	}
	if err != nil {
		st.srv.cfg.Log.Warn("cannot stop the remaining processes", "reason", reason, "left", report.Left, "err", err)
	}
}

// processesOf returns a function that finds the processes of all sessions, each once.
func processesOf(all []*session) func() ([]reap.Proc, error) {
	trees := make([]*reap.Tree, 0, len(all))
	for _, x := range all {
		trees = append(trees, x.tree)
	}
	return func() ([]reap.Proc, error) { return proc.All(trees) }
}
