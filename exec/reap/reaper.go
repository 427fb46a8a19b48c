//go:build linux

package reap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fallback limits the damage of a lost SIGCHLD. The timer runs only while there are children, so
// that an idle PID 1 does not wake up.
const fallback = 10 * time.Second

// ErrNotRunning is returned by Start after Run has ended, because the process would never be
// collected.
var ErrNotRunning = errors.New("no more processes can be started: the worker is ending")

// Reaper is the single owner of wait4 in this process.
type Reaper struct {
	// OnOrphan, if set before Run, is called from Run for each ended process that this Reaper did
	// not start. A slow callback delays all statuses. The environment of an ended process is gone;
	// a Tree knows to which session it belonged.
	OnOrphan func(pid int, s Status)

	mu      sync.Mutex // held during fork+register and during wait+remove
	procs   map[int]*Process
	running bool
	ended   bool
	reaped  chan struct{} // closed at the next reap; nil if nothing waits for it

	asked asked

	tablesMu sync.Mutex
	tables   map[string]*Table // by marker variable

	started chan struct{} // tells Run that there is a child now
}

// New returns a Reaper. Processes may be started at once; their statuses arrive when Run is
// running.
func New() *Reaper {
	return &Reaper{procs: map[int]*Process{}, started: make(chan struct{}, 1)}
}

// Run collects children until ctx ends, then returns nil. This Reaper never collects processes that
// are still alive then, so stop them first.
func (r *Reaper) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.running || r.ended {
		r.mu.Unlock()
		return errors.New("run reaper: it runs already or has ended")
	}
	r.running = true
	r.mu.Unlock()

	chld := make(chan os.Signal, 1)
	signal.Notify(chld, syscall.SIGCHLD)
	defer signal.Stop(chld)
	defer r.end()
	loop(ctx, chld, r.started, r.sweep)
	return nil
}

// loop calls sweep at every event, and at the fallback tick while there are children. The first
// sweep comes at once, because the signal of a child that ended before the listener existed was
// lost.
func loop(ctx context.Context, chld <-chan os.Signal, started <-chan struct{}, sweep func() (children bool)) {
	timer := time.NewTimer(fallback)
	defer timer.Stop()
	for {
		if sweep() {
			timer.Reset(fallback)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			sweep()
			return
		case <-chld:
		case <-started:
		case <-timer.C:
		}
	}
}

func (r *Reaper) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.ended = false, true
}

// sweep collects every child that has ended and reports whether others live.
func (r *Reaper) sweep() (children bool) {
	for {
		pid, s, p, err := r.waitOne()
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil: // ECHILD
			return false
		case pid == 0:
			return true
		case p != nil:
			p.status = s
			close(p.done)
		case r.OnOrphan != nil:
			r.OnOrphan(pid, s)
		}
	}
}

func (r *Reaper) waitOne() (int, Status, *Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ws syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
	if err != nil || pid <= 0 {
		return 0, Status{}, nil, err
	}
	p := r.procs[pid]
	if p != nil {
		p.gone = true
		delete(r.procs, pid)
	}
	if r.reaped != nil {
		close(r.reaped)
		r.reaped = nil
	}
	return pid, StatusOf(ws), p, nil
}

// nextReap returns a channel that is closed when the next process is collected.
func (r *Reaper) nextReap() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reaped == nil {
		r.reaped = make(chan struct{})
	}
	return r.reaped
}

// quietSince reports whether no child has ended since reaped came from nextReap.
func (r *Reaper) quietSince(reaped <-chan struct{}) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-reaped:
		return false
	default:
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo == 0 // ECHILD: there are no children
}

// Running returns how many started processes are not collected yet.
func (r *Reaper) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.procs)
}

// Subreaper makes this process the parent of its orphaned descendants, for a worker that is not PID
// 1 (prctl PR_SET_CHILD_SUBREAPER). Children do not inherit this.
func Subreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}
