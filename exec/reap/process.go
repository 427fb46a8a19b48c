//go:build linux

package reap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spec says what to start.
type Spec struct {
	Path  string     // of the executable; not looked up in PATH
	Argv  []string   // whole, Argv[0] included; empty: Path alone
	Env   []string   // whole environment, K=V; nothing is inherited
	Dir   string     // working directory; empty: the Reaper's own
	Files []*os.File // descriptors 0, 1, 2, ...; nil entries and missing ones of the first three: /dev/null

	Setsid  bool // new session, so also a new process group
	Setpgid bool // new process group

	// OOMScoreAdj, if not 0, is written to the process's oom_score_adj. Raising
	// it needs no right, and makes the kernel take the rank and not PID 1. A
	// process that forks within its first microseconds may have a child without.
	OOMScoreAdj int
}

// Status is how a process ended.
type Status struct {
	Code   int            // exit code; 128+n when signal n ended it
	Signal syscall.Signal // 0: it exited by itself
	Core   bool           // it dumped core
}

// StatusOf reads what wait4 says of the end of a process.
func StatusOf(ws syscall.WaitStatus) Status {
	if ws.Signaled() {
		return Status{Code: 128 + int(ws.Signal()), Signal: ws.Signal(), Core: ws.CoreDump()}
	}
	return Status{Code: ws.ExitStatus()}
}

// Process is a process that a Reaper started.
type Process struct {
	r      *Reaper
	pid    int
	gone   bool // collected, so the pid may belong to another; under r.mu
	done   chan struct{}
	status Status // written before done is closed
}

// PID is the process id; after Done it may belong to another process.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended and its status is there.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status is the exit status; it blocks until Done.
func (p *Process) Status() Status {
	<-p.done
	return p.status
}

// Signal sends sig to the process alone. It returns os.ErrProcessDone when the
// process has been collected: its pid is never signalled after that.
func (p *Process) Signal(sig syscall.Signal) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.gone {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(p.pid, sig); err != nil {
		return fmt.Errorf("signal pid %d: %w", p.pid, err)
	}
	return nil
}

// SignalGroup sends sig to the process group that the process leads: it must
// have been started with Setsid or Setpgid. It returns os.ErrProcessDone when
// the process has been collected, though others of the group may live: the
// number is not the group's for ever.
func (p *Process) SignalGroup(sig syscall.Signal) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.gone {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(-p.pid, sig); err != nil {
		return fmt.Errorf("signal process group %d: %w", p.pid, err)
	}
	return nil
}

// Start starts a process. The error wraps the syscall.Errno of execve or chdir
// (ENOENT and ENOTDIR: not found; EACCES, ENOEXEC: cannot be run), or is
// ErrNotRunning. The caller may close s.Files afterwards.
func (r *Reaper) Start(s Spec) (*Process, error) {
	if len(s.Argv) == 0 {
		s.Argv = []string{s.Path}
	}
	fds, null, err := descriptors(s.Files)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	if null != nil {
		defer null.Close()
	}
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: fds,
		Sys: &syscall.SysProcAttr{Setsid: s.Setsid, Setpgid: s.Setpgid && !s.Setsid}}
	if attr.Env == nil {
		attr.Env = []string{} // nil would mean our own environment
	}
	p, err := r.fork(s, attr)
	runtime.KeepAlive(s.Files)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, explain(s, err))
	}
	select {
	case r.started <- struct{}{}:
	default:
	}
	return p, nil
}

// fork holds the lock until the new process is registered. ForkExec itself
// waits for a child whose execve failed; the lock keeps sweep from taking it.
func (r *Reaper) fork(s Spec, attr *syscall.ProcAttr) (*Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, ErrNotRunning
	}
	pid, err := syscall.ForkExec(s.Path, s.Argv, attr)
	if err != nil {
		return nil, err
	}
	p := &Process{r: r, pid: pid, done: make(chan struct{})}
	r.procs[pid] = p
	if s.OOMScoreAdj != 0 {
		// A refusal (lowering without the right, a read-only /proc) costs only
		// the preference among victims; it is no reason not to run the command.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), strconv.AppendInt(nil, int64(s.OOMScoreAdj), 10), 0)
	}
	return p, nil
}

// descriptors maps files to descriptors; null is open when some of them need it.
func descriptors(files []*os.File) (fds []uintptr, null *os.File, err error) {
	for i := range max(3, len(files)) {
		if i < len(files) && files[i] != nil {
			fds = append(fds, files[i].Fd())
			continue
		}
		if null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, nil, err
			}
		}
		fds = append(fds, null.Fd())
	}
	return fds, null, nil
}

// explain tells apart the three things that execve's ENOENT and EACCES mean.
func explain(s Spec, err error) error {
	if s.Dir != "" {
		if derr := unix.Access(s.Dir+"/.", unix.X_OK); derr != nil {
			return fmt.Errorf("change directory to %s: %w", s.Dir, derr)
		}
	}
	if errors.Is(err, syscall.ENOENT) {
		if _, serr := os.Stat(s.Path); serr == nil {
			return fmt.Errorf("its interpreter or loader is missing: %w", err)
		}
	}
	return err
}
