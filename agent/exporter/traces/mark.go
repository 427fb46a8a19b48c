package traces

import (
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/musterhq/muster/agent/event"
)

// mostMarks is the number of events of a span, which is the default of OpenTelemetry too.
const mostMarks = 128

// mark is one event of a span.
type mark struct {
	at    time.Time
	name  string
	attrs []attribute.KeyValue
}

// marks are the events of a span. When there are too many, the oldest go.
type marks struct {
	all []mark
}

func (m *marks) add(one mark) {
	if len(m.all) == mostMarks {
		m.all = append(m.all[:0], m.all[1:]...)
	}
	m.all = append(m.all, one)
}

// cut removes the events until a time, and returns them.
func (m *marks) cut(until time.Time) (cut marks) {
	kept := m.all[:0]
	for _, one := range m.all {
		if one.at.After(until) {
			kept = append(kept, one)
		} else {
			cut.all = append(cut.all, one)
		}
	}
	m.all = kept
	return cut
}

// marksSpan reports whether an event becomes an event of a span. Others begin or end spans.
func marksSpan(e event.Event) bool {
	switch e.Kind {
	case event.Waiting, event.CheckProblem, event.FirstLine, event.LinkLost, event.LinkBack, event.Stalled, event.Saved, event.StopAsked,
		event.RankEnded, event.WorkerLost, event.Replaced, event.OutOfMemory, event.BrokenDevice:
		return true
	}
	return !e.Kind.Known()
}

// mark adds an event to the span where it belongs: the phase of its worker, else the preflight or the
// attempt, else the run. The first lines and ends of ranks of a crowd are in no span.
func (s *Sink) mark(e event.Event) {
	if !marksSpan(e) {
		return
	}
	one := mark{at: e.Time, name: string(e.Kind)}
	if e.Worker != "" {
		one.attrs = append(one.attrs, attribute.String(attrWorker, e.Worker))
	}
	if e.Rank >= 0 {
		one.attrs = append(one.attrs, attribute.Int(attrRank, e.Rank))
	}
	if e.Detail != "" {
		one.attrs = append(one.attrs, attribute.String(attrDetail, e.Detail))
	}
	if e.Count != 0 {
		one.attrs = append(one.attrs, attribute.Int(attrCount, e.Count))
	}
	if e.Worker != "" && e.Kind != event.CheckProblem {
		if shown := s.crowd.of(e.Worker); shown != nil {
			shown.add(one)
			return
		}
		if e.Kind == event.FirstLine || e.Kind == event.RankEnded || e.Kind == event.Waiting {
			return
		}
	}
	if e.Kind == event.FirstLine && e.Rank >= 0 && len(s.attempt.marks.all) >= mostShown {
		return // of an mpirun, where the worker of a rank is unknown
	}
	switch {
	case s.preflight.isOpen():
		s.preflight.marks.add(one)
	case s.attempt.isOpen():
		s.attempt.marks.add(one)
	default:
		s.root.marks.add(one)
	}
}
