// Package exporter passes the events of a run on to other systems, as they come. It is what the program
// agent-exporter does: the launcher starts that program, and writes events to its standard input.
//
//	exporter.go  Run: reads events, and gives them to sinks
//	metrics      a sink that serves metrics for Prometheus
//
// Guarantees: sinks get every event that arrives, in order. A line that is no event is skipped. After
// the end of its input, Run returns within a limit, whatever the sinks wait for.
package exporter
