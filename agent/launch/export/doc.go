// Package export runs agent-exporter beside the launcher, and passes the events of the run on to it.
// agent-exporter serves metrics and sends traces. The libraries for both would double the launcher.
//
//	wanted.go  when a run has an exporter, and where its program is
//	export.go  the Exporter: start, samples, and end of the program
//	queue.go   the lines that wait for the program
//	heard.go   what the program prints: the first problem becomes one warning
//
// Guarantees: nothing in the run waits for the program. If it reads too slowly, events are dropped, and
// an event tells it how many. If it is missing or ends, the run goes on. The end of a run waits for it
// only up to a limit. A nil Exporter does nothing.
package export
