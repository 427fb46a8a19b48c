// Traces runs fake workers, sends the trace of the run to a real OpenTelemetry collector, and compares what
// has arrived with the run's timeline: over HTTP and over gRPC.
//
//	test/lab/run traces          the rows
//	test/lab/run traces -print   and every span that the collector got
//
// The collector is built from its own modules, which are a module beside this folder.
package main
