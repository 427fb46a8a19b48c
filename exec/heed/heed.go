// Package heed takes signals as os/signal does, but for those that this process
// was started to ignore: nohup sets SIGHUP so, and a shell without job control
// SIGINT and SIGQUIT of what it puts into the background. A signal that is
// ignored stays so in every process that we start.
//
// Go's runtime keeps such a choice for SIGHUP and SIGINT. Of other signals it has
// made its own before the program begins, and what they were is not known; SIGQUIT
// is taken to be as SIGINT is.
package heed

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Notify is signal.Notify for those of the signals that are not to be ignored.
func Notify(c chan<- os.Signal, signals ...os.Signal) {
	if taken := unignored(signals); len(taken) > 0 { // of none, signal.Notify means all
		signal.Notify(c, taken...)
	}
}

// Context is signal.NotifyContext for those of the signals that are not to be
// ignored.
func Context(parent context.Context, signals ...os.Signal) (ctx context.Context, stop context.CancelFunc) {
	taken := unignored(signals)
	if len(taken) == 0 {
		return context.WithCancel(parent)
	}
	return signal.NotifyContext(parent, taken...)
}

func unignored(signals []os.Signal) []os.Signal {
	var taken []os.Signal
	for _, s := range signals {
		switch {
		case signal.Ignored(s):
		case s == syscall.SIGQUIT && signal.Ignored(os.Interrupt):
			signal.Ignore(s) // else the runtime would dump its stacks, and end us
		default:
			taken = append(taken, s)
		}
	}
	return taken
}
