//go:build linux

package session

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// mpirun ends when the outputs of its ranks have ended. A process that a rank leaves in the
// background holds them, and no MPI says so.

// rankEndedLocked notes when a rank was found to have ended, and has its session looked at
// once more when its output should have ended, too. Called with o.mu held.
func (o *observer) rankEndedLocked(x *session, rank string) {
	if rank == "" || x.ours.Load() {
		return
	}
	if x.sight.rankEnds == nil {
		x.sight.rankEnds = map[string]time.Time{}
	}
	x.sight.rankEnds[rank] = time.Now()
	if x.sight.awaitsOutput {
		return
	}
	x.sight.awaitsOutput = true
	o.srv.wg.Go(func() {
		timer := time.NewTimer(heldTold)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-x.dropped:
			return
		}
		o.mu.Lock()
		x.sight.awaitsOutput = false
		o.mu.Unlock()
		o.lookAt(x)
	})
}

// tellOrphans tells of processes in the background that hold the output of a rank which
// has ended heldTold ago: daemons are the session's MPI daemons by pid, members all of its processes.
func (o *observer) tellOrphans(x *session, members []reap.Proc, daemons map[int]bool) {
	if x.ours.Load() {
		return
	}
	ranks, outputs := map[string]bool{}, map[string]bool{}
	var orphans []reap.Proc
	for _, p := range members {
		switch {
		case !p.Alive() || p.Exiting:
		case daemons[p.PID]:
			addPipes(outputs, p.PID)
		case daemons[p.PPID]:
			ranks[rankOf(p.PID)] = true
		case p.PPID == os.Getpid() && p.Age() >= heldTold:
			orphans = append(orphans, p)
		}
	}
	if len(outputs) == 0 { // no daemon lives
		return
	}
	for _, p := range orphans {
		if rank := rankOf(p.PID); rank != "" && !ranks[rank] && holds(p.PID, outputs) {
			o.tellOrphan(x, p, rank)
		}
	}
}

// tellOrphan tells once of a process that holds the output of a rank.
func (o *observer) tellOrphan(x *session, p reap.Proc, rank string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := being{p.PID, p.Start}
	switch at, known := x.sight.rankEnds[rank]; {
	case slices.Contains(x.sight.holders, key):
	case !known: // it ended before it was seen
		o.rankEndedLocked(x, rank)
	case time.Since(at) < heldTold:
		o.rankEndedLocked(x, rank)
		x.sight.rankEnds[rank] = at
	default:
		x.sight.holders = append(x.sight.holders, key)
		o.reportLocked(x, wire.ReportRecord{Kind: wire.ReportHeld, PID: p.PID, Command: p.Comm, Rank: rank})
	}
}

// addPipes adds the pipes and terminals that a daemon has open to links, as /proc/PID/fd
// shows them to those at their other ends.
func addPipes(links map[string]bool, pid int) {
	for _, link := range openLinks(pid) {
		if strings.HasPrefix(link, "pipe:") || strings.HasPrefix(link, "socket:") {
			links[link] = true
		}
		if strings.HasSuffix(link, "/ptmx") {
			links[terminal] = true
		}
	}
}
