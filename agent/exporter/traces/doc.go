// Package traces makes a trace of a run from its events, and sends it with OpenTelemetry's SDK. A run is
// one trace, with the spans of `agent timeline`.
//
//	sink.go    Sink: from events to spans
//	span.go    span: what is sent, and how it gets the ids that the launcher has handed to ranks
//	mark.go    events of spans, and where each event of a run belongs
//	crowd.go   which workers have spans of their own
//	send.go    New: exporters by the OTEL_ variables, and the end
//	relay.go   Relay: spans that the controller has made
//	report.go  warnings, without the secrets of headers
//
// Guarantees: Take waits for no network. A span is sent when it has ended. What a dead collector has not
// taken is dropped and counted.
//
// Memory is bounded. A span has at most mostMarks events. The first mostShown workers have a span for
// each phase. Of the other workers, each phase has the mostSlow longest spans of an attempt.
package traces
