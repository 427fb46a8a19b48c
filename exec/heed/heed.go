// Package heed receives signals like os/signal, except for those that this process was started to
// ignore. nohup ignores SIGHUP in this way, and a shell without job control ignores SIGINT and
// SIGQUIT in background processes. An ignored signal stays ignored in every process that we start.
//
// Go's runtime keeps that choice for SIGHUP and SIGINT. It takes over other signals before the
// program begins, so their previous state is not known. SIGQUIT is assumed to have the state of
// SIGINT.
package heed

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Notify is signal.Notify without the signals that are ignored.
func Notify(c chan<- os.Signal, signals ...os.Signal) {
	if taken := unignored(signals); len(taken) > 0 { // without signals, signal.Notify would mean all
		signal.Notify(c, taken...)
	}
}

// Context is signal.NotifyContext without the signals that are ignored.
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
			signal.Ignore(s) // otherwise the runtime dumps its stacks and exits
		default:
			taken = append(taken, s)
		}
	}
	return taken
}
