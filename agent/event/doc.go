// Package event is the record of what happened in a run: one typed event with a time, and often a
// worker or a rank. The launcher writes events, and `agent timeline` reads them.
//
//	event.go   the Event
//	json.go    its form, one JSON object a line
//	kinds.go   every kind with a sentence about it; docs/reference/events.md is generated from it
//	read.go    reads a file of events
//	brief.go   the attempts of a run as one line, for the status of a LaunchJob
//	sample.go  numbers of the run at one time, for agent-exporter
//
// Guarantees: kinds and fields of a newer release survive reading and writing. A line that a crash
// has cut off is skipped and counted. The package is pure.
package event
