package traces

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/timeline"
	"github.com/musterhq/muster/agent/tracecontext"
)

// Names of the spans that are no phase of a worker.
const (
	runSpan       = "run"
	attemptSpan   = "attempt"
	preflightSpan = "preflight"
	restartSpan   = "restart"
)

// Attributes of spans and of their events.
const (
	attrWorker   = "muster.worker.name"
	attrWorkers  = "muster.workers"
	attrHidden   = "muster.workers.without_spans"
	attrAttempt  = "muster.attempt"
	attrAttempts = "muster.attempts"
	attrRank     = "muster.rank"
	attrDetail   = "muster.detail"
	attrCount    = "muster.count"
	attrDropped  = "muster.events.dropped"
	attrNode     = "k8s.node.name"
	attrExit     = "process.exit.code"
)

// unfinished is the status of spans whose end was not recorded.
const unfinished = "its end was not recorded"

// Sink makes spans from the events of one run. Its methods may be called from any goroutine.
type Sink struct {
	run  tracecontext.Run
	send *sender

	mu         sync.Mutex
	closed     bool
	ended      bool // the run has ended
	live       timeline.Live
	crowd      crowd
	from, seen time.Time // first and last moment of the run; zero: no event yet
	root       span
	attempt    span
	preflight  span
	restart    span // without a name until it is known that one follows
	attempts   int
	preflights int
	dropped    int // events that the record does not have
}

// Take takes the next event of the run. A nil Sink takes none.
func (s *Sink) Take(e event.Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ended {
		return
	}
	if s.from.IsZero() {
		s.from = e.Time
		s.root = span{name: runSpan, parent: s.run.Parent, self: s.run.Root}
	}
	if e.Time.After(s.seen) {
		s.seen = e.Time
	}
	s.begin(e)
	s.mark(e)
	spans, attempt := s.live.Take(e)
	s.phases(spans)
	s.end(e, attempt)
}

// begin begins the span that begins with an event.
func (s *Sink) begin(e event.Event) {
	switch e.Kind {
	case event.RunStarted:
		s.root.attrs = append(s.root.attrs, attribute.Int(attrWorkers, e.Count))
	case event.CheckStarted:
		s.endPreflight(e.Time)
		s.preflight = span{name: preflightSpan, parent: s.run.Root, self: s.preflightContext(), from: e.Time, attrs: attemptAttr(e.Attempt)}
	case event.CommandStarted:
		if s.attempt.isOpen() {
			return
		}
		s.endSpan(&s.restart, e.Time)
		s.slowest()
		s.attempt = span{name: attemptSpan, parent: s.run.Root, self: s.run.Attempt(e.Attempt), from: e.Time, attrs: attemptAttr(e.Attempt)}
	}
}

// end ends the spans that end with an event. attempt is the one that it has ended, or nil.
func (s *Sink) end(e event.Event, attempt *timeline.Attempt) {
	switch e.Kind {
	case event.Checked:
		s.endPreflight(e.Time)
	case event.AttemptEnded:
		s.endAttempt(attempt)
		s.restart = span{self: s.restartContext(e.Attempt), from: e.Time} // a restart may follow
	case event.Restart:
		if s.restart.isOpen() {
			s.restart.name, s.restart.parent = restartSpan, s.run.Root
			s.restart.attrs = append(attemptAttr(e.Attempt), attribute.String(attrDetail, e.Detail))
		}
	case event.Dropped:
		s.dropped += e.Count
	case event.RunEnded:
		failed := ""
		if e.Count != 0 {
			failed = orDefault(e.Detail, "exit code "+strconv.Itoa(e.Count))
		}
		s.endAttempt(attempt)
		s.root.attrs = append(s.root.attrs, attribute.Int(attrExit, e.Count))
		s.finish(e.Time, failed)
	}
}

// endAttempt sends the span of an attempt.
func (s *Sink) endAttempt(a *timeline.Attempt) {
	if a == nil {
		return
	}
	if !s.attempt.isOpen() { // a failed preflight
		s.attempt = span{name: attemptSpan, parent: s.run.Root, self: s.run.Attempt(a.Number), from: a.From, attrs: attemptAttr(a.Number)}
	}
	switch {
	case !a.Over:
		s.attempt.failed = unfinished
	case a.Exit != 0:
		s.attempt.failed = orDefault(a.Why, "exit code "+strconv.Itoa(a.Exit))
	}
	if a.Over {
		s.attempt.attrs = append(s.attempt.attrs, attribute.Int(attrExit, a.Exit))
	}
	s.attempts++
	s.slowest()
	s.endSpan(&s.attempt, a.To)
}

// finish sends all spans that are open. failed is the status of the run; "": it did not fail.
func (s *Sink) finish(at time.Time, failed string) {
	if s.from.IsZero() {
		return
	}
	s.ended = true
	s.slowest()
	s.endPreflight(at)
	s.restart.failed = failed
	s.endSpan(&s.restart, at)
	s.root.from, s.root.failed = s.from, failed
	s.root.attrs = append(s.root.attrs, attribute.Int(attrAttempts, s.attempts))
	if n := len(s.crowd.hidden); n > 0 {
		s.root.attrs = append(s.root.attrs, attribute.Int(attrHidden, n))
	}
	if s.dropped > 0 {
		s.root.attrs = append(s.root.attrs, attribute.Int(attrDropped, s.dropped))
	}
	s.endSpan(&s.root, at)
}

// endSpan sends a span that is open, if it has a name.
func (s *Sink) endSpan(one *span, at time.Time) {
	if one.isOpen() && one.name != "" {
		one.to = at
		s.send.span(*one)
	}
	*one = span{}
}

func (s *Sink) endPreflight(at time.Time) {
	if s.preflight.isOpen() {
		s.endSpan(&s.preflight, at)
		s.preflights++
	}
}

// phases sends spans of workers, or keeps them if they may be the slowest of a crowd.
func (s *Sink) phases(all []timeline.Ended) {
	for _, one := range all {
		if one.Phase == timeline.Unknown {
			continue
		}
		if one.From.Before(s.from) {
			s.from = one.From
		}
		if marks, shown := s.crowd.shows(one); shown {
			s.phase(one, marks)
		}
	}
}

// slowest sends what the crowd has kept.
func (s *Sink) slowest() {
	for _, one := range s.crowd.slowest() {
		s.phase(one, marks{})
	}
}

// phase sends the span of one worker in one phase.
func (s *Sink) phase(one timeline.Ended, marks marks) {
	out := span{name: string(one.Phase), parent: s.run.Root, from: one.From, to: one.To, marks: marks, attrs: []attribute.KeyValue{attribute.String(attrWorker, one.Worker)}}
	if one.Node != "" {
		out.attrs = append(out.attrs, attribute.String(attrNode, one.Node))
	}
	if one.Cause != "" {
		out.attrs = append(out.attrs, attribute.String(attrDetail, one.Cause))
	}
	switch one.Phase {
	case timeline.Running:
		out.parent = s.run.Attempt(one.Attempt)
		out.attrs = append(out.attrs, attemptAttr(one.Attempt)...)
	case timeline.Checking:
		out.parent = s.preflightContext()
	case timeline.Restarting:
		out.parent = s.restartContext(one.Attempt)
	case timeline.Lost:
		out.failed = orDefault(one.Cause, "lost")
	}
	s.send.span(out)
}

// preflightContext returns the context of the preflight that is open or comes next.
func (s *Sink) preflightContext() tracecontext.Context {
	return s.run.Root.Child(preflightSpan + " " + strconv.Itoa(s.preflights))
}

// restartContext returns the context of the restart after an attempt.
func (s *Sink) restartContext(after int) tracecontext.Context {
	return s.run.Root.Child(restartSpan + " " + strconv.Itoa(after))
}

func attemptAttr(number int) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.Int(attrAttempt, number)}
}

// Close ends the open spans, and sends all spans until ctx ends. An error says how many were not sent.
func (s *Sink) Close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	if s.root.isOpen() { // its end was not recorded
		spans, attempt := s.live.End(s.seen)
		s.phases(spans)
		s.endAttempt(attempt)
		s.finish(s.seen, unfinished)
	}
	s.mu.Unlock()
	return s.send.close(ctx)
}

func orDefault(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
