//go:build linux

package worker

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/musterhq/muster/exec/heed"
)

// Signals are those that a PID 1 of ours takes, by what it does with them.
// docs/pid1.md has the table of all 31 with the reasons, and test/pid1 holds
// the program to it.
type Signals struct {
	Stop    chan os.Signal // end in order
	Passed  chan os.Signal // to the processes
	dropped chan os.Signal // never read
}

// halt is SIGRTMIN+3, which ends a container of systemd; images name it as their STOPSIGNAL.
const halt = syscall.Signal(37)

// TakeSignals takes them until GiveBack, but for those that we were started to
// ignore.
func TakeSignals() Signals {
	s := Signals{Stop: make(chan os.Signal, 4), Passed: make(chan os.Signal, 64), dropped: make(chan os.Signal)}
	heed.Notify(s.Stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, halt)
	heed.Notify(s.Passed, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGSTKFLT,
		syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGVTALRM, syscall.SIGWINCH, syscall.SIGIO, syscall.SIGPWR)
	// Taken and dropped, not ignored: what a process ignores, its children ignore
	// too, and a rank must die of SIGPIPE as usual.
	signal.Notify(s.dropped,
		// The kernel sends these for what this process itself did.
		syscall.SIGPIPE, syscall.SIGXCPU, syscall.SIGXFSZ,
		// Sent by somebody they mean nothing, but Go would crash of them, and the
		// container with it. A genuine fault of ours does not come this way.
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS,
		// A worker that a terminal could stop would be a lost one.
		syscall.SIGTTIN, syscall.SIGTTOU)
	return s
}

// GiveBack takes no more signals.
func (s Signals) GiveBack() {
	signal.Stop(s.Stop)
	signal.Stop(s.Passed)
	signal.Stop(s.dropped)
}

// Forward hands signals on until ctx ends.
func Forward(ctx context.Context, passed <-chan os.Signal, to func(syscall.Signal)) {
	for {
		select {
		case s := <-passed:
			to(s.(syscall.Signal))
		case <-ctx.Done():
			return
		}
	}
}
