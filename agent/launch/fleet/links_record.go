//go:build linux

package fleet

import (
	"strconv"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// recordChange records that the link of a worker came up or was cut. s is its new state. Links that
// were parked, or that end with the run, are not cut. The caller holds mu.
func (l *Links) recordChange(m *held, s link.State) {
	w := m.worker
	switch {
	case s.Connected && !m.state.Linked:
		l.Record.Worker(event.Linked, w.Name, w.Node, "")
	case s.Connected && m.cut:
		m.cut = false
		l.Record.Worker(event.LinkBack, w.Name, w.Node, "")
	case !s.Connected && !s.Parked && !l.ending:
		m.cut = true
		why := ""
		if s.Last != nil {
			why = phrase.OneLine(s.Last)
		}
		l.Record.Worker(event.LinkLost, w.Name, w.Node, why)
	}
}

// endRecord ends the record of links, because the run ends them.
func (l *Links) endRecord() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
}

// recordEnd records the end of a rank of an mpirun. The launcher knows that of other ranks itself.
func (l *Links) recordEnd(worker string, rec wire.ReportRecord) {
	rank, ok := rankOf(rec)
	if !ok || l.account.LabelOf(rec.Session) != "" {
		return
	}
	at := time.Now().Add(-time.Duration(rec.AgoMillis) * time.Millisecond)
	how := phrase.HowEnded(rec.Code, rec.Signal)
	if rec.Kind == wire.ReportDone {
		l.Record.FirstDone(at, worker, rank, how)
		return
	}
	l.Record.Rank(at, event.RankEnded, worker, rank, how)
}

// rankOf returns the rank whose end a report tells.
func rankOf(rec wire.ReportRecord) (rank int, ok bool) {
	if rec.Kind != wire.ReportDone && rec.Kind != wire.ReportRank {
		return 0, false
	}
	rank, err := strconv.Atoi(rec.Rank)
	return rank, err == nil
}

// Sample adds the output of all links to a sample.
func (l *Links) Sample(s *event.Sample) {
	l.mu.Lock()
	links, gone := make([]*link.Link, 0, len(l.held)), l.output
	for _, m := range l.held {
		links = append(links, m.link)
	}
	l.mu.Unlock()
	s.OutputBytes += gone
	for _, one := range links {
		received, held := one.Output()
		s.OutputBytes += received
		s.BufferedBytes += held
	}
}
