package traces

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/tracecontext"
)

// span is a span that has ended, or the part of an open one that is known.
type span struct {
	name     string
	parent   tracecontext.Context // not valid: none
	self     tracecontext.Context // not valid: its id is random
	from, to time.Time
	attrs    []attribute.KeyValue
	marks    marks
	failed   string // description of its error; "": none
}

// isOpen reports whether s is a span that has begun.
func (s *span) isOpen() bool { return s.self.Valid() }

// selfKey is the key of a span's own context.
type selfKey struct{}

// context returns the context in which the SDK starts the span.
func (s *span) context() context.Context {
	ctx := context.WithValue(context.Background(), selfKey{}, s.self)
	if !s.parent.Valid() {
		return ctx
	}
	state, err := trace.ParseTraceState(s.parent.State)
	if err != nil {
		state = trace.TraceState{}
	}
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.parent.Trace, SpanID: s.parent.Span,
		TraceFlags: trace.TraceFlags(s.parent.Flags), TraceState: state, Remote: s.name == runSpan})
	return trace.ContextWithSpanContext(ctx, parent)
}

// record starts and ends the span in the SDK, and reports whether the trace is recorded.
func (s *span) record(tracer trace.Tracer) bool {
	if s.to.Before(s.from) {
		s.to = s.from
	}
	_, made := tracer.Start(s.context(), s.name, trace.WithTimestamp(s.from), trace.WithAttributes(s.attrs...))
	if !made.IsRecording() {
		return false
	}
	for _, m := range s.marks.all {
		made.AddEvent(m.name, trace.WithTimestamp(m.at), trace.WithAttributes(m.attrs...))
	}
	if s.failed != "" {
		made.SetStatus(codes.Error, s.failed)
	}
	made.End(trace.WithTimestamp(s.to))
	return true
}

// ids gives spans the ids of their own context, which the launcher has handed to ranks. It implements
// sdktrace.IDGenerator.
type ids struct{}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if self, ok := ctx.Value(selfKey{}).(tracecontext.Context); ok && self.Valid() {
		return self.Trace, self.Span
	}
	var id trace.TraceID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()|1) // zero is no id
	return id, randomSpan()
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if self, ok := ctx.Value(selfKey{}).(tracecontext.Context); ok && self.Valid() {
		return self.Span
	}
	return randomSpan()
}

func randomSpan() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1) // zero is no id
	return id
}
