//go:build linux

package session

import (
	"slices"
	"time"

	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/wire"
)

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

// report is reportLocked for callers without the lock.
func (o *observer) report(x *session, rec wire.ReportRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reportLocked(x, rec)
}

// reportLocked keeps a report and sends it when somebody is there. Called with
// o.mu held.
func (o *observer) reportLocked(x *session, rec wire.ReportRecord) {
	rec.Session = x.id
	if rec.Kind != wire.ReportRanks {
		o.srv.cfg.Log.Info("seen in a session", "session", x.id, "what", rec.Kind, "pid", rec.PID, "command", rec.Command, "code", rec.Code)
	}
	o.tellLocked(rec)
}

// tell is report for what is of no session.
func (o *observer) tell(rec wire.ReportRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tellLocked(rec)
}

// tellLocked numbers a report, keeps it, and sends it when somebody is there. Called with
// o.mu held.
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

// welcomed gives a connection everything that there is to tell; from now
// on it gets what is new.
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

// starvedLocked tells of what the kernel killed for its memory since a session
// began. mpirun tells a signal at most, and a daemon that has left its session no
// exit record. Called with o.mu held.
func (o *observer) starvedLocked() {
	kills := proc.MemoryKills(o.srv.cfg.Cgroup)
	for x := range o.sessions {
		if o.wants.reports && kills > x.oom+x.sight.memory {
			x.sight.memory = kills - x.oom
			o.reportLocked(x, wire.ReportRecord{Kind: wire.ReportMemory})
		}
	}
}
