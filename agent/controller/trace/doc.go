// Package trace makes a trace of each job, and hands its spans to agent-exporter, which sends them. The
// controller links nothing of OpenTelemetry.
//
//	spans.go     the spans of a job that have ended, from its status
//	tracer.go    Tracer: the context for a launcher, and what a change of a status has ended
//	exporter.go  Exporter: agent-exporter beside the controller
//
// Guarantees: ids follow from the job's UID and from times in its status, so a new controller continues a
// trace. A span is sent after the status that ends it was written, so only once: if the controller is killed
// in between, the span is lost. If the record has left out the attempt before, `queued` begins with the pods. Nothing waits for the network. A nil Tracer does nothing.
package trace
