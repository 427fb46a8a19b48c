//go:build linux

package session

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// leadTime is how long daemons are held for a launcher that has not yet said that it asks the ranks
// of all workers. The launcher redials a parked link when the pod's status shows the stop.
const leadTime = 10 * time.Second

// leaving is a stop from outside. If the worker has daemons of an mpirun, it holds them until the
// launcher has ended that mpirun. An mpirun that loses a daemon ends the ranks of all workers. The
// same applies to processes that horovodrun and others start over rsh, and to processes of a group.
type leaving struct {
	saving  *saving       // its first part, in which the ranks are asked
	lead    chan struct{} // closed when the launcher asks the ranks of all workers
	release chan struct{} // closed when nothing is held any longer
	led     func()        // closes lead
	free    func()        // closes release
	asked   func()        // closes saving.asked
	saved   func()        // closes saving.over
}

func newLeaving() *leaving {
	l := &leaving{lead: make(chan struct{}), release: make(chan struct{}),
		saving: &saving{cancel: func() {}, asked: make(chan struct{}), over: make(chan struct{})}}
	l.led = sync.OnceFunc(func() { close(l.lead) })
	l.free = sync.OnceFunc(func() { close(l.release) })
	l.asked = sync.OnceFunc(func() { close(l.saving.asked) })
	l.saved = sync.OnceFunc(func() { close(l.saving.over) })
	return l
}

// end releases what the stop holds, and everything that waits for its ranks.
func (l *leaving) end() {
	l.free()
	l.asked()
	l.saved()
}

// await closes release if no launcher has asked the ranks of all workers within leadTime.
func (l *leaving) await(ctx context.Context) {
	timer := time.NewTimer(leadTime)
	defer timer.Stop()
	select {
	case <-l.lead:
	case <-l.release:
	case <-timer.C:
		l.free()
	case <-ctx.Done():
	}
}

// freeLocked releases the daemons that a stop from outside holds: their mpirun has ended, or has
// lost its launcher. The caller holds srv.mu.
func (st *stopper) freeLocked() {
	if st.leaving != nil {
		st.leaving.free()
	}
}

// ledElsewhere reports whether one of the sessions has daemons of an mpirun that runs elsewhere, or
// ranks of a launcher elsewhere, such as horovodrun or agent run. Such a launcher ends all ranks
// when it loses one.
func ledElsewhere(all []*session) bool {
	for _, x := range all {
		if !x.line && !x.inGroup {
			continue
		}
		members, err := x.tree.Find()
		if err != nil {
			continue // the stop itself reports this error
		}
		for _, p := range members {
			if p.Alive() && (x.inGroup || names.IsMPIDaemon(p.Comm) || p.Numbers != (reap.Numbers{})) {
				return true
			}
		}
	}
	return false
}

// drain ends the processes that find returns, for a stop from outside: the ranks first, and daemons
// of an mpirun once the launcher has ended that mpirun. drain tells the launcher to do so.
func (st *stopper) drain(ctx context.Context, l *leaving, find func() ([]reap.Proc, error), sig syscall.Signal, grace time.Duration, tell func([]reap.Outcome)) (reap.Report, error) {
	st.srv.mu.Lock()
	st.srv.observer.tell(wire.ReportRecord{Kind: wire.ReportLeaving, Signal: int(sig), GraceMillis: grace.Milliseconds()})
	if st.saving != nil && time.Now().Before(st.saving.until) {
		l.led() // it has asked already
	}
	st.srv.mu.Unlock()
	st.srv.wg.Go(func() { l.await(ctx) })
	one := l.saving
	return st.srv.cfg.Reaper.DrainHolding(ctx, find, sig, grace, tell, reap.Hold{
		Until: l.release,
		Asked: func(savers []reap.Proc) {
			one.savers = savers
			l.asked()
		},
		Saved: func(outcomes []reap.Outcome, living int) {
			one.answer = wire.RanksRecord{Asked: len(outcomes), Living: living, Ranks: endedRanks(outcomes)}
			l.saved()
		},
	})
}
