//go:build linux

package session

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// Looks at the members of living sessions come soon after the start of a line, to know
// ranks that end early, and then seldom. Without sessions there are none.
const (
	firstLook = 500 * time.Millisecond
	lastLook  = 10 * time.Second
	// Ranks that a daemon has yet to start are looked for more often, for so long.
	rankLook = 500 * time.Millisecond
	rankTime = time.Minute
	// maxWatched bounds the pidfds of one worker.
	maxWatched = 1024
)

// being names a process for ever.
type being struct {
	pid   int
	start uint64
}

// kind is what a watched process is.
type kind int

const (
	ofRank kind = iota
	ofDaemon
	ofUnborn // a child of a daemon before its execve: a rank, as a rule
)

// watched is a daemon or a rank that a look has found.
type watched struct {
	session *session
	kind    kind
	command string
	rank    string      // its number as its MPI told it
	mpi     bool        // it has an MPI library loaded
	pidfd   *reap.Pidfd // nil: none
	// stopped is since when looks have found it stopped; zero: it runs.
	stopped time.Time
	seen    time.Time // first
	told    bool      // of its being frozen
	// turn is its place among the ends of watched processes, in the order in which the kernel
	// told of them; 0: it has not. ended is when it was first tried to tell of it.
	turn  atomic.Int64
	ended time.Time
}

// look watches over the sessions until ctx ends. It wakes up only while there
// are some and the launcher wants to hear.
func (s *Server) look(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	timer.Stop()
	pause := firstLook
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.looks:
			s.hunt(ctx)
			pause = s.soonestLook()
		case <-timer.C:
			if !s.lookOnce() {
				continue
			}
			pause = min(2*pause, s.longestLook())
		}
		timer.Reset(pause)
	}
}

// soonestLook is how long after a start looks begin. Where no session runs a line
// nobody is about to start daemons: the first processes' own ends are told anyhow, and a
// thousand workers that look around while they all start take that time from each other.
func (s *Server) soonestLook() time.Duration {
	soon := false
	s.mu.Lock()
	for _, x := range s.sessions {
		soon = soon || x.line && x.lives()
	}
	s.mu.Unlock()
	if soon {
		return firstLook
	}
	return s.longestLook()
}

// longestLook keeps looks well below the time that they measure.
func (s *Server) longestLook() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := lastLook
	if s.frozenAfter > 0 {
		longest = max(firstLook, min(lastLook, s.frozenAfter/4))
	}
	for _, w := range s.watched {
		if w.kind == ofDaemon && !w.session.hasRanks && time.Since(w.seen) < rankTime {
			return min(longest, rankLook)
		}
	}
	return longest
}

// watchNow lets the looks begin anew. It does not block.
func (s *Server) watchNow() {
	select {
	case s.looks <- struct{}{}:
	default:
	}
}

// lookOnce looks at every living session; false when there is none.
func (s *Server) lookOnce() bool {
	s.mu.Lock()
	var live []*session
	for _, x := range s.sessions {
		if s.wantsReports && x.lives() {
			live = append(live, x)
		}
	}
	s.mu.Unlock()
	for _, x := range live {
		s.lookAt(x)
	}
	return len(live) > 0
}

// lookAt looks at the members of one session; also at its end, when the ranks'
// own ends are still to be told. It returns the members, none if it has not looked.
func (s *Server) lookAt(x *session) []reap.Proc {
	s.mu.Lock()
	wanted := s.wantsReports
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	members, err := x.tree.Find()
	if err != nil {
		return nil // the next look may have more luck, and a stop complains
	}
	daemons := map[int]bool{}
	for _, p := range members {
		daemons[p.PID] = p.Alive() && names.IsMPIDaemon(p.Comm)
	}
	alive := map[being]bool{}
	for _, p := range members {
		if p.Alive() && (daemons[p.PID] || daemons[p.PPID]) {
			alive[being{p.PID, p.Start}] = true
			kind := ofRank
			if daemons[p.PID] {
				kind = ofDaemon
			}
			s.see(x, p, kind)
		}
	}
	s.miss(x, alive)
	s.tellOrphans(x, members, daemons)
	return members
}

// see notes a living daemon or rank. It returns nil where there is no room.
func (s *Server) see(x *session, p reap.Proc, kind kind) *watched {
	key := being{p.PID, p.Start}
	s.mu.Lock()
	w, room := s.watched[key], s.watched != nil && len(s.watched) < maxWatched
	s.mu.Unlock()
	switch {
	case w == nil && !room:
		s.mu.Lock()
		defer s.mu.Unlock()
		x.unfinished = true
		return nil
	case w == nil:
		w = &watched{session: x, pidfd: reap.OpenPidfd(p.PID), seen: time.Now()}
		defer s.awaitEnd(key, w)
	}
	rank, mpi, local := w.rank, w.mpi, 0
	if kind == ofRank && !mpi && time.Since(w.seen) < rankTime {
		// A process that is about to be gone has no environment any more.
		rank, mpi = cmp.Or(rankOf(p.PID), rank), usesMPI(p.PID)
		if w.rank == "" && rank != "" {
			local = localRanksOf(p.PID)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched == nil { // the server ends
		w.pidfd.Close()
		return nil
	}
	// A daemon's child bears its name until it becomes the rank.
	w.kind, w.command, w.rank, w.mpi = kind, p.Comm, rank, mpi
	s.watched[key] = w
	if kind == ofRank {
		x.ranksSeen.add(rank, local)
		s.hasRanksLocked(x, mpi)
	}
	s.frozenLocked(w, p)
	return w
}

// hasRanksLocked tells once that a session has ranks, and once that these use MPI. Called
// with s.mu held.
func (s *Server) hasRanksLocked(x *session, mpi bool) {
	if !x.hasRanks || mpi && !x.hasMPI {
		x.hasRanks, x.hasMPI = true, mpi
		s.reportLocked(x, wire.ReportRecord{Kind: wire.ReportRanks, MPI: mpi})
	}
}

// frozenLocked tells of a daemon that has been stopped for too long. Called with s.mu held.
func (s *Server) frozenLocked(w *watched, p reap.Proc) {
	x := w.session
	if w.kind != ofDaemon || p.State != 'T' {
		w.stopped, w.told = time.Time{}, false
		return
	}
	if w.stopped.IsZero() {
		w.stopped = time.Now()
	}
	if for_ := time.Since(w.stopped); s.frozenAfter > 0 && for_ >= s.frozenAfter && !w.told {
		w.told = true
		s.reportLocked(x, wire.ReportRecord{Kind: wire.ReportFrozen, PID: p.PID, Command: p.Comm, Millis: for_.Milliseconds()})
		if s.conn == nil {
			// Nobody is there to decide: a launcher that has parked its link hears
			// of it by its mpirun, and then asks us.
			s.stopSession(x, s.cfg.Grace)
		}
	}
}

// endOf returns how a process ended; wait says that nobody can know yet. It asks before the
// process is collected: a stop that follows from this death would be taken for its cause.
func endOf(key being, w *watched) (st reap.Status, known, wait bool) {
	if st, known = zombieOf(key); known {
		return st, true, false
	}
	return w.pidfd.Exit() // in this order: it may be collected meanwhile
}

// endLocked tells of the end of a watched process. Called with s.mu held.
func (s *Server) endLocked(key being, st reap.Status) {
	w := s.watched[key]
	s.unwatchLocked(key)
	rec := wire.ReportRecord{Kind: wire.ReportRank, PID: key.pid, Command: w.command, Rank: w.rank, MPI: w.mpi, Code: st.Code, Signal: int(st.Signal)}
	switch {
	case w.session.ours.Load():
		if st.Code != 0 && !stopping(st.Signal) { // it may have ended before we stopped the session
			w.session.ranksSeen.lose(w.kind)
		}
		return // our doing
	case w.kind == ofDaemon && st.Signal == 0:
		return // its exit code says nothing that mpirun does not
	case w.kind == ofDaemon:
		rec.Kind, rec.MPI, rec.Finished = wire.ReportDaemon, false, s.finishedLocked(w.session)
	case w.kind == ofUnborn:
		rec.Command = "" // it bore its daemon's
		fallthrough
	default:
		s.rankEndedLocked(w.session, w.rank)
		s.hasRanksLocked(w.session, w.mpi)
		if st.Code == 0 && (w.rank == "" || w.session.hasDone) {
			return
		}
		if st.Code == 0 {
			w.session.hasDone = true
			rec.Kind = wire.ReportDone
			break
		}
		w.session.unfinished = true
		rec.Unseen = w.session.unseenLocked()
	}
	s.reportLocked(w.session, rec)
}

func (s *Server) unwatchLocked(key being) {
	if w := s.watched[key]; w != nil {
		w.pidfd.Close()
	}
	delete(s.watched, key)
}

// unwatchSessionLocked forgets those of a session. Called with s.mu held.
func (s *Server) unwatchSessionLocked(x *session) {
	for key, w := range s.watched {
		if w.session == x {
			s.unwatchLocked(key)
		}
	}
}

// orphaned takes the status of a process that came to us and was collected: a
// daemon that had left its parent.
func (s *Server) orphaned(pid int, st reap.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starvedLocked()
	for key := range s.watched {
		if key.pid == pid {
			s.endLocked(key, st)
		}
	}
}

// starvedLocked tells of what the kernel killed for its memory since a session
// began. mpirun tells a signal at most, and a daemon that has left its session no
// exit record. Called with s.mu held.
func (s *Server) starvedLocked() {
	kills := proc.MemoryKills(s.cfg.Cgroup)
	for _, x := range s.sessions {
		if s.wantsReports && kills > x.oom+x.oomTold {
			x.oomTold = kills - x.oom
			s.reportLocked(x, wire.ReportRecord{Kind: wire.ReportMemory})
		}
	}
}

// maxReports are kept for launchers that redial: the first half, which has the causes,
// and the last.
const maxReports = 64

// report is a record and when what it tells of came to light.
type report struct {
	wire.ReportRecord
	at time.Time
}

// record returns r as it is sent now.
func (r report) record() wire.ReportRecord {
	rec := r.ReportRecord
	rec.AgoMillis = time.Since(r.at).Milliseconds()
	return rec
}

// reportLocked keeps a report and sends it when somebody is there. Called with
// s.mu held.
func (s *Server) reportLocked(x *session, rec wire.ReportRecord) {
	rec.Session = x.id
	if rec.Kind != wire.ReportRanks {
		s.cfg.Log.Info("seen in a session", "session", x.id, "what", rec.Kind, "pid", rec.PID, "command", rec.Command, "code", rec.Code)
	}
	s.tellLocked(rec)
}

// tellLocked is reportLocked for what is of no session.
func (s *Server) tellLocked(rec wire.ReportRecord) {
	s.reported++
	rec.Seq = s.reported
	if s.reports = append(s.reports, report{rec, time.Now()}); len(s.reports) > maxReports {
		s.reports = slices.Delete(s.reports, maxReports/2, maxReports/2+1)
	}
	if s.conn != nil && s.conn.reports {
		s.conn.record(wire.Report, 0, rec)
	}
}

// resendReports gives a connection everything that there is to tell; from now
// on it gets what is new.
func (s *Server) resendReports(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c || !s.wantsReports {
		return
	}
	c.reports = true
	for _, r := range s.reports {
		c.record(wire.Report, 0, r.record())
	}
}

// unwatchAllLocked forgets everything of an epoch. Called with s.mu held.
func (s *Server) unwatchAllLocked() {
	for key := range s.watched {
		s.unwatchLocked(key)
	}
	s.reports = nil
}
