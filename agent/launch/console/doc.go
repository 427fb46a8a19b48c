// Package console has everything that a launcher prints, and what it does with the
// output of the user's command on its way to the user.
//
//	voice.go     sentences for people, one whole line at a time
//	printer.go   the progress of the wait for workers
//	logger.go    the log for those who debug; sink.go drops lines that nobody reads
//	tee.go       stands between a command in the launcher and our own streams
//	words.go     what mpiruns say of their ranks; tags.go has them mark each line
//	meter.go     metrics in the output
//	outlet.go    carries the output of processes on the workers to our own streams
//	standard.go  what our own streams are, and what they have lost
//	lost.go      errors of writing, with their exit codes
//	input.go     standard input, which each attempt reads anew
//
// It promises: the user's standard output carries the command's bytes and nothing else.
// A sentence is one whole line. Nothing waits for the reader of a log.
package console
