// Package console prints everything that a launcher prints, and passes the output of the user's
// command on to the user.
//
//	voice.go     messages for people, one whole line at a time; backlog.go keeps unread messages
//	printer.go   the progress of the wait for workers
//	logger.go    the debug log; sink.go drops lines that nothing reads
//	tee.go       passes a command's output through the launcher
//	words.go     what mpiruns say about their ranks; tags.go makes them tag each line
//	meter.go     metrics in the output
//	outlet.go    writes the output of processes on the workers to our own streams
//	standard.go  what our own streams are, and what output they have lost
//	lost.go      write errors and their exit codes
//	input.go     standard input, which each attempt reads from its beginning
//
// Guarantees: the user's standard output has the bytes of the command and nothing else. A message
// is one whole line. Nothing waits for the reader of a log, or longer than a second for the reader of
// a message.
package console
