//go:build linux

package session

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// The observer looks at the processes of running sessions soon after the start of a line, to find
// short-lived ranks, and then less and less often. Without sessions it does not look.
const (
	firstLook = 500 * time.Millisecond
	lastLook  = 10 * time.Second
	// A session without a line has an MPI daemon only if a program of the user's starts one. Looks find
	// nothing else to watch, so they become as rare as idleLook until one has been found.
	idleLook = time.Minute
	// While a daemon has yet to start its ranks, looks are more frequent, for at most rankTime.
	rankLook = 500 * time.Millisecond
	rankTime = time.Minute
	// longestUnborn is how long a child of a daemon that has its name and no children counts as a rank
	// before its execve. An older one is a daemon: that of Open MPI 5 is a child of a process of the
	// same name.
	longestUnborn = 2 * time.Second
	// maxWatched limits the pidfds of one worker.
	maxWatched = 1024
)

// being identifies a process forever.
type being struct {
	pid   int
	start uint64
}

// kind says what a watched process is.
type kind int

const (
	ofRank kind = iota
	ofDaemon
	ofUnborn // a child of a daemon before its execve; usually a rank
)

// watched is a daemon or a rank that a look has found.
type watched struct {
	session *session
	kind    kind
	command string
	rank    string      // rank number, from its MPI
	mpi     bool        // it has an MPI library loaded
	pidfd   *reap.Pidfd // nil: none
	// stopped is since when looks have found it stopped; zero: it is not.
	stopped time.Time
	seen    time.Time // time of the first look
	told    bool      // it has been reported as frozen
	// turn is its position among the ends of watched processes, in the kernel's order; 0: not
	// reported by the kernel. ended is when the observer first tried to report the end.
	turn  atomic.Int64
	ended time.Time
}

// look watches the sessions until ctx ends. It wakes up only while there are sessions and the
// launcher wants reports.
func (o *observer) look(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	timer.Stop()
	pause := firstLook
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.looks:
			o.hunt(ctx)
			pause = o.soonestLook()
		case <-timer.C:
			if !o.lookOnce() {
				continue
			}
			pause = min(2*pause, o.longestLook())
		}
		timer.Reset(pause)
	}
}

// soonestLook returns how long after a start the looks begin. Without a session that runs a line no
// daemon will be started, and the first processes' own ends are reported anyway. So looks begin
// late: 1,000 workers scanning at start steal CPU time from each other.
func (o *observer) soonestLook() time.Duration {
	if o.livingLines() {
		return firstLook
	}
	return min(lastLook, o.longestLook())
}

// longestLook returns the longest pause between looks.
func (o *observer) longestLook() time.Duration {
	lines := o.livingLines()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !lines && !o.watchesDaemonsLocked() {
		return idleLook
	}
	longest := o.frozenLookLocked()
	for _, w := range o.watched {
		if w.kind == ofDaemon && !w.session.sight.hasRanks && time.Since(w.seen) < rankTime {
			return min(longest, rankLook)
		}
	}
	return longest
}

// frozenLook returns the longest pause between looks where daemons can be expected. It is well below
// FrozenMillis, which looks measure.
func (o *observer) frozenLook() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.frozenLookLocked()
}

func (o *observer) frozenLookLocked() time.Duration {
	if o.wants.frozenAfter <= 0 {
		return lastLook
	}
	return max(firstLook, min(lastLook, o.wants.frozenAfter/4))
}

// watchesDaemonsLocked reports whether a look has found a daemon that lives. The caller holds o.mu.
func (o *observer) watchesDaemonsLocked() bool {
	for _, w := range o.watched {
		if w.kind == ofDaemon {
			return true
		}
	}
	return false
}

// watchNow restarts the looks. It does not block.
func (o *observer) watchNow() {
	select {
	case o.looks <- struct{}{}:
	default:
	}
}

// lookOnce looks at every running session. It returns false if there is none, or if the launcher
// wants no reports.
func (o *observer) lookOnce() bool {
	if !o.wantsReports() {
		return false
	}
	live := o.srv.living()
	o.looking.Lock()
	defer o.looking.Unlock()
	trees := make([]*reap.Tree, len(live))
	for i, x := range live {
		trees[i] = x.tree
	}
	found, err := proc.Each(trees)
	for i, x := range live {
		if err == nil {
			o.lookIn(x, found[i])
		}
	}
	return len(live) > 0
}

// lookAt looks at the processes of one session. It is also called at the session's end, when the
// ranks' ends must still be reported. It returns the processes, or nil if it has not looked.
func (o *observer) lookAt(x *session) []reap.Proc {
	if !o.wantsReports() {
		return nil
	}
	o.looking.Lock()
	defer o.looking.Unlock()
	members, err := x.tree.Find()
	if err != nil {
		return nil // the next look may succeed, and a stop logs the error
	}
	o.lookIn(x, members)
	return members
}

// lookIn looks at the processes of one session that a scan has found. The caller holds o.looking.
func (o *observer) lookIn(x *session, members []reap.Proc) {
	all, leads := map[int]reap.Proc{}, map[int]bool{}
	for _, p := range members {
		all[p.PID], leads[p.PPID] = p, true
	}
	daemons, unborn := map[int]bool{}, map[int]bool{}
	for _, p := range members {
		if !p.Alive() || !names.IsMPIDaemon(p.Comm) {
			continue
		}
		parent := all[p.PPID]
		if parent.Comm != p.Comm && names.IsMPIDaemon(parent.Comm) && !stillRuns(parent) {
			parent.Comm = p.Comm // it became what its child was, during the scan
		}
		daemons[p.PID] = parent.Comm != p.Comm || (leads[p.PID] || p.Age() > longestUnborn) && stillRuns(p)
		unborn[p.PID] = !daemons[p.PID]
	}
	alive := map[being]bool{}
	for _, p := range members {
		if p.Alive() && (daemons[p.PID] || daemons[p.PPID]) {
			alive[being{p.PID, p.Start}] = true
			kind := ofRank
			switch {
			case daemons[p.PID]:
				kind = ofDaemon
			case unborn[p.PID]:
				kind = ofUnborn
			}
			o.see(x, p, kind)
		}
	}
	o.miss(x, alive)
	o.tellOrphans(x, members, daemons)
}

// see records a live daemon or rank. It returns nil if there is no room, or if the process has ended
// since the caller's scan and its end was reported.
func (o *observer) see(x *session, p reap.Proc, kind kind) *watched {
	key := being{p.PID, p.Start}
	o.mu.Lock()
	w, room, past := o.watched[key], o.watched != nil && len(o.watched) < maxWatched, x.sight.past[key]
	o.mu.Unlock()
	switch {
	case past:
		return nil
	case w == nil && !room:
		o.mu.Lock()
		defer o.mu.Unlock()
		x.sight.unfinished = true
		return nil
	case w == nil:
		w = &watched{session: x, pidfd: reap.OpenPidfd(p.PID), seen: time.Now()}
		defer o.awaitEnd(key, w)
	}
	rank, mpi, local := w.rank, w.mpi, 0
	if kind == ofRank && !mpi && time.Since(w.seen) < rankTime {
		// An exiting process no longer has an environment.
		rank, mpi = cmp.Or(rankOf(p.PID), rank), usesMPI(p.PID)
		if w.rank == "" && rank != "" {
			local = localRanksOf(p.PID)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched == nil || x.sight.past[key] { // the server is closing, or the process has ended meanwhile
		w.pidfd.Close()
		return nil
	}
	// A daemon's child has the daemon's name until it becomes the rank.
	w.kind, w.command, w.rank, w.mpi = kind, p.Comm, rank, mpi
	o.watched[key] = w
	if kind == ofRank {
		x.sight.ranks.add(rank, local)
		o.hasRanksLocked(x, mpi)
	}
	o.frozenLocked(w, p)
	return w
}

// hasRanksLocked reports once that a session has ranks, and once that they use MPI. The caller
// holds o.mu.
func (o *observer) hasRanksLocked(x *session, mpi bool) {
	if !x.sight.hasRanks || mpi && !x.sight.hasMPI {
		x.sight.hasRanks, x.sight.hasMPI = true, mpi
		o.reportLocked(x, wire.ReportRecord{Kind: wire.ReportRanks, MPI: mpi})
	}
}

// frozenLocked reports a daemon that has been stopped for too long. The caller holds o.mu.
func (o *observer) frozenLocked(w *watched, p reap.Proc) {
	x := w.session
	if w.kind != ofDaemon || p.State != 'T' {
		w.stopped, w.told = time.Time{}, false
		return
	}
	if w.stopped.IsZero() {
		w.stopped = time.Now()
	}
	if for_ := time.Since(w.stopped); o.wants.frozenAfter > 0 && for_ >= o.wants.frozenAfter && !w.told {
		w.told = true
		o.reportLocked(x, wire.ReportRecord{Kind: wire.ReportFrozen, PID: p.PID, Command: p.Comm, Millis: for_.Milliseconds()})
		if !o.connected {
			// No launcher is there to decide. A launcher that has parked its link learns of the
			// stop from its mpirun, and then asks us.
			o.srv.wg.Go(func() { o.srv.stops.session(x, cmp.Or(o.srv.Grace(), o.srv.cfg.Grace)) }) // Grace needs srv.mu
		}
	}
}

// endOf returns how a process ended. wait says that its end cannot be known yet. endOf checks
// before the process is collected: otherwise a stop that follows from this death could be taken for
// its cause.
func endOf(key being, w *watched) (st reap.Status, known, wait bool) {
	if st, known = zombieOf(key); known {
		return st, true, false
	}
	return w.pidfd.Exit() // after zombieOf, because it may have been collected meanwhile
}

// endLocked reports the end of a watched process. The caller holds o.mu.
func (o *observer) endLocked(key being, st reap.Status) {
	w := o.watched[key]
	o.unwatchLocked(key)
	rec := wire.ReportRecord{Kind: wire.ReportRank, PID: key.pid, Command: w.command, Rank: w.rank, MPI: w.mpi, Code: st.Code, Signal: int(st.Signal)}
	switch {
	case w.session.ours.Load():
		if st.Code != 0 && !stopping(st.Signal) { // it may have ended before we stopped the session
			w.session.sight.ranks.lose(w.kind)
		}
		return // caused by us
	case w.kind == ofDaemon && st.Signal == 0:
		return // mpirun reports the same as its exit code
	case w.kind == ofDaemon:
		rec.Kind, rec.MPI, rec.Finished = wire.ReportDaemon, false, o.finishedLocked(w.session)
	case w.kind == ofUnborn:
		rec.Command = "" // it had its daemon's name
		fallthrough
	default:
		o.rankEndedLocked(w.session, w.rank)
		o.hasRanksLocked(w.session, w.mpi)
		if st.Code == 0 && (w.rank == "" || w.session.sight.hasDone) {
			return
		}
		if st.Code == 0 {
			w.session.sight.hasDone = true
			rec.Kind = wire.ReportDone
			break
		}
		w.session.sight.unfinished = true
		rec.Unseen = w.session.sight.unseen()
	}
	o.reportLocked(w.session, rec)
}

func (o *observer) unwatchLocked(key being) {
	if w := o.watched[key]; w != nil {
		w.pidfd.Close()
		w.session.sight.passed(key)
	}
	delete(o.watched, key)
}

// passed remembers a process that has ended, because a scan that began before may still contain it.
// If it were watched again, its end would be unknown, and it would count as an unseen rank.
func (s *sight) passed(key being) {
	if s.past == nil || len(s.past) >= maxWatched {
		s.past = map[being]bool{}
	}
	s.past[key] = true
}

// orphaned handles the status of a process that became our child and was collected: a daemon that
// had left its parent.
func (o *observer) orphaned(pid int, st reap.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.starvedLocked()
	for key := range o.watched {
		if key.pid == pid {
			o.endLocked(key, st)
		}
	}
}
