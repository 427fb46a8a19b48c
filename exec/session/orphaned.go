//go:build linux

package session

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// mpirun ends when the outputs of its ranks have ended. A process that a rank leaves in the
// background holds these outputs open, and no MPI implementation reports it.

// rankEndedLocked records when a rank was found to have ended. It schedules another look at the
// session for the time when the rank's output should have ended, too. The caller holds o.mu.
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

// tellOrphans reports background processes that hold the output of a rank which ended heldTold ago.
// members are all processes of the session. daemons says which of them, by pid, are MPI daemons.
func (o *observer) tellOrphans(x *session, members []reap.Proc, daemons map[int]bool) {
	if x.ours.Load() || !slices.Contains(slices.Collect(maps.Values(daemons)), true) {
		return
	}
	var orphans []reap.Proc
	var numbers []string // of their ranks
	for _, p := range members {
		if p.Alive() && !p.Exiting && !daemons[p.PID] && p.PPID == os.Getpid() && p.Age() >= heldTold {
			if rank := rankOf(p.PID); rank != "" {
				orphans, numbers = append(orphans, p), append(numbers, rank)
			}
		}
	}
	if len(orphans) == 0 { // as in most looks; the files of daemons would be many
		return
	}
	ranks, outputs := map[string]bool{}, map[string]bool{}
	for _, p := range members {
		switch {
		case !p.Alive() || p.Exiting:
		case daemons[p.PID]:
			addPipes(outputs, p.PID)
		case daemons[p.PPID]:
			ranks[rankOf(p.PID)] = true
		}
	}
	for i, p := range orphans {
		if !ranks[numbers[i]] && holds(p.PID, outputs) {
			o.tellOrphan(x, p, numbers[i])
		}
	}
}

// tellOrphan reports a process that holds the output of a rank, once.
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

// addPipes adds the pipes and terminals that a daemon has open to links, in the form in which
// /proc/PID/fd shows them to the processes at the other ends.
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
