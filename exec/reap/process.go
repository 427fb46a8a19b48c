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
	Argv  []string   // including Argv[0]; empty: only Path
	Env   []string   // complete environment, K=V; nothing is inherited
	Dir   string     // working directory; "": the Reaper's own
	Files []*os.File // descriptors 0, 1, 2, ...; nil entries, and missing ones of the first three, are /dev/null

	Setsid  bool // new session, and so a new process group
	Setpgid bool // new process group

	// OOMScoreAdj, if not 0, is written to the process's oom_score_adj. Raising it needs no right,
	// and makes the kernel kill the rank instead of PID 1. A process that forks within its first
	// microseconds may have a child without it.
	OOMScoreAdj int
}

// Status is how a process ended.
type Status struct {
	Code   int            // exit code; 128+n if signal n ended it
	Signal syscall.Signal // 0 if it exited by itself
	Core   bool           // it dumped core
}

// StatusOf converts what wait4 returns about the end of a process.
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
	gone   bool // collected, so another process may have the pid; protected by r.mu
	done   chan struct{}
	status Status // written before done is closed
}

// PID returns the process id. After Done it may belong to another process.
func (p *Process) PID() int { return p.pid }

// Done returns a channel that is closed when the process has ended and its status is available.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status returns the exit status. It blocks until Done.
func (p *Process) Status() Status {
	<-p.done
	return p.status
}

// Signal sends sig to the process alone. It returns os.ErrProcessDone if the process has been
// collected, so it never signals another process with the same pid.
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

// SignalGroup sends sig to the process group of the process, which must have been started with
// Setsid or Setpgid. It returns os.ErrProcessDone if the process has been collected, even if others
// of the group live, because the number may be reused.
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

// Start starts a process. It waits while a file system of the program or of its directory does not
// answer. The error wraps the syscall.Errno of execve or chdir (ENOENT and ENOTDIR: not found;
// EACCES, ENOEXEC: cannot be run), or is ErrNotRunning. The caller may close s.Files afterwards.
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
	awaitFiles(s)
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

// fork holds the lock until the new process is registered. ForkExec itself waits for a child whose
// execve failed; the lock keeps sweep from collecting that child.
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
		// A failure (lowering without the right, a read-only /proc) only loses the preference among
		// victims. The command must run anyway.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), strconv.AppendInt(nil, int64(s.OOMScoreAdj), 10), 0)
	}
	return p, nil
}

// descriptors maps files to descriptors. null is /dev/null, opened if one of them needs it.
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

// explain distinguishes the three meanings of execve's ENOENT and EACCES.
func explain(s Spec, err error) error {
	if s.Dir != "" {
		if derr := unix.Access(s.Dir+"/.", unix.X_OK); derr != nil {
			return fmt.Errorf("change directory to %s: %w", s.Dir, derr)
		}
	}
	if errors.Is(err, syscall.ENOENT) {
		if _, serr := os.Stat(s.Path); serr == nil {
			return fmt.Errorf("the interpreter or loader of the program is missing: %w", err)
		}
	}
	return err
}
