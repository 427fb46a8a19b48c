//go:build linux

package session

import (
	"slices"
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/wire"
)

// maxReports is how many reports are kept for launchers that redial: the first half, which has the
// causes, and the latest ones.
const maxReports = 64

// report is a record with the time when the event was noticed.
type report struct {
	wire.ReportRecord
	at time.Time
}

// record returns the record to send now.
func (r report) record() wire.ReportRecord {
	rec := r.ReportRecord
	rec.AgoMillis = time.Since(r.at).Milliseconds()
	return rec
}

// report is reportLocked for callers without the lock.
func (o *observer) report(x *session, rec wire.ReportRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reportLocked(x, rec)
}

// reportLocked keeps a report, and sends it if a launcher is connected. The caller holds o.mu.
func (o *observer) reportLocked(x *session, rec wire.ReportRecord) {
	rec.Session = x.id
	if rec.Kind != wire.ReportRanks {
		o.srv.cfg.Log.Info("MPI process event", "session", x.id, "what", rec.Kind, "pid", rec.PID, "command", rec.Command, "code", rec.Code)
	}
	o.tellLocked(rec)
}

// tell is report for a record that belongs to no session.
func (o *observer) tell(rec wire.ReportRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tellLocked(rec)
}

// tellLocked numbers a report, keeps it, and sends it if a launcher is connected. The caller holds
// o.mu.
func (o *observer) tellLocked(rec wire.ReportRecord) {
	o.reported++
	rec.Seq = o.reported
	if o.reports = append(o.reports, report{rec, time.Now()}); len(o.reports) > maxReports {
		o.reports = slices.Delete(o.reports, maxReports/2, maxReports/2+1)
	}
	if o.to != nil {
		o.to.record(wire.Report, 0, rec)
	}
}

// welcomed sends all kept reports to a connection. From now on it gets new ones.
func (o *observer) welcomed(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.wants.reports {
		return
	}
	o.to = c
	for _, r := range o.reports {
		c.record(wire.Report, 0, r.record())
	}
}

// starvedLocked reports processes that the kernel killed for lack of memory since a session began.
// mpirun reports at most a signal, and a daemon that has left its session has no exit record. The
// caller holds o.mu.
func (o *observer) starvedLocked() {
	kills := proc.MemoryKills(o.srv.cfg.Cgroup)
	for x := range o.sessions {
		if o.wants.reports && kills > x.oom+x.sight.memory {
			x.sight.memory = kills - x.oom
			o.reportLocked(x, wire.ReportRecord{Kind: wire.ReportMemory})
		}
	}
}
