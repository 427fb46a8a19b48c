// Package tracecontext finds the place of a run in a trace, in the format of W3C Trace Context. The
// launcher hands this place to the processes that it starts, and agent-exporter sends the spans.
//
//	context.go  Context: TRACEPARENT and TRACESTATE
//	run.go      Run: the caller's context, that of the run, and that of each attempt
//	span.go    Span: what the controller hands to agent-exporter; Derived: ids that follow from a seed
//	sampled.go  whether the run's spans are recorded, by the rules of OpenTelemetry's SDK
//
// Guarantees: the span of an attempt follows from the run's span and the attempt's number. So the
// launcher and the exporter agree without talking. The package links nothing of OpenTelemetry, and
// reads no variable by itself.
package tracecontext
