//go:build linux

package worker

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/musterhq/muster/exec/heed"
)

// Signals are the signals that our PID 1 takes, grouped by what it does with them. docs/explanation/pid1.md
// lists all 31 with the reasons, and test/pid1 enforces that.
type Signals struct {
	Stop    chan os.Signal // stop the sessions, then exit
	Passed  chan os.Signal // pass on to the processes
	dropped chan os.Signal // never read
}

// halt is SIGRTMIN+3, which ends a systemd container. Images name it as their STOPSIGNAL.
const halt = syscall.Signal(37)

// TakeSignals takes the signals until GiveBack, except for those that we were started to ignore.
func TakeSignals() Signals {
	s := Signals{Stop: make(chan os.Signal, 4), Passed: make(chan os.Signal, 64), dropped: make(chan os.Signal)}
	heed.Notify(s.Stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, halt)
	heed.Notify(s.Passed, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGSTKFLT,
		syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGVTALRM, syscall.SIGWINCH, syscall.SIGIO, syscall.SIGPWR)
	// These are taken and dropped, not ignored. Children inherit ignored signals, and a rank must
	// die of SIGPIPE as usual.
	signal.Notify(s.dropped,
		// The kernel sends these for what this process itself did.
		syscall.SIGPIPE, syscall.SIGXCPU, syscall.SIGXFSZ,
		// If another process sends these they mean nothing. But Go would crash, and the container
		// would end. A genuine fault of ours does not arrive this way.
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS,
		// A worker that a terminal could stop would be declared lost.
		syscall.SIGTTIN, syscall.SIGTTOU)
	return s
}

// GiveBack stops taking signals.
func (s Signals) GiveBack() {
	signal.Stop(s.Stop)
	signal.Stop(s.Passed)
	signal.Stop(s.dropped)
}

// Forward passes signals on until ctx ends.
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
