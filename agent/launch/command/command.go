//go:build linux

package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// envRun marks the processes of the command. The mark finds processes that left its process group
// after the command has ended.
const envRun = "MUSTER_RUN"

// Command is the user's command while it runs.
type Command struct {
	name   string // base name, for messages
	proc   *reap.Process
	reaper *reap.Reaper
	tree   *reap.Tree
	// shared means that the command is in our process group, because it may read from the terminal.
	// Signals from the terminal then reach it directly.
	shared bool
	// deaf means that it is shared but blocks the terminal's INT (blockInterrupt). It ends by TERM.
	deaf  bool
	links *fleet.Links // to workers that may run its ranks
	// drained ends the stop of its ranks, and returns how they ended; nil: no stop was begun.
	drained func() []report.StoppedRank
}

// Spec says what to start, and how.
type Spec struct {
	Argv, Env []string
	Dir       string // "": the current directory
	Streams   console.Streams
	Run       string       // the run's id, which marks the processes
	OwnSlots  int          // ranks that an MPI launcher may start here as its children
	Links     *fleet.Links // to workers that may run its ranks
	Workers   int          // number of workers that an MPI launcher calls
}

// Start starts a command with our descriptors. Errors are *failure.Failure with code 127 (not
// found), 126 (cannot be run) or 64 (no such directory).
func Start(r *reap.Reaper, s Spec) (c *Command, err error) {
	only := launchesOnly(s.Argv, s.OwnSlots)
	err = onThread(func() (err error) {
		deaf := false
		if only {
			_ = filterSetpgid() // on failure the race in Open MPI remains
			deaf = term.IsTerminal(int(s.Streams.In.Fd())) && blockInterrupt() == nil
		}
		c, err = start(r, s, deaf)
		return err
	})
	if err == nil && only {
		limitFiles(c.proc.PID(), s.Workers)
	}
	return c, err
}

// start is Start on the thread whose settings the command inherits.
func start(r *reap.Reaper, s Spec, deaf bool) (*Command, error) {
	if info, err := os.Stat(s.Dir); s.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, failure.Usage("the command runs in the launcher, so the directory must exist there", "--chdir=%s is not a directory in the launcher", s.Dir)
	}
	path, err := lookPath(s.Argv[0])
	if err != nil {
		return nil, err
	}
	in := s.Streams.In
	if term.IsTerminal(int(in.Fd())) && startsOverSSH(s.Argv) {
		in = nil // /dev/null
	}
	c := &Command{
		name:   filepath.Base(s.Argv[0]),
		reaper: r,
		tree:   r.Table(envRun).Tree(s.Run),
		shared: in != nil && term.IsTerminal(int(in.Fd())),
		deaf:   deaf,
		links:  s.Links,
	}
	c.proc, err = r.Start(reap.Spec{
		Path:    path,
		Argv:    s.Argv,
		Dir:     s.Dir,
		Env:     append(s.Env, envRun+"="+s.Run),
		Files:   []*os.File{in, s.Streams.Out, s.Streams.Err},
		Setpgid: !c.shared,
	})
	if err != nil {
		return nil, cannotRun(s.Argv[0], err)
	}
	c.tree.Add(c.proc)
	return c, nil
}

// Name returns the command's base name, for messages.
func (c *Command) Name() string { return c.name }

// Status returns how the command has ended. It is valid after Done is closed.
func (c *Command) Status() reap.Status { return c.proc.Status() }

func lookPath(name string) (string, error) {
	path, err := osexec.LookPath(name)
	if err == nil || errors.Is(err, osexec.ErrDot) {
		return path, nil
	}
	return "", cannotRun(name, err)
}

func cannotRun(name string, err error) error {
	if errors.Is(err, osexec.ErrNotFound) {
		return failure.New(names.ExitNotFound, notFoundHint(name), "%s: command not found", name)
	}
	var errno syscall.Errno
	reason := err
	if errors.As(err, &errno) {
		reason = errno
	}
	if errors.Is(err, fs.ErrNotExist) {
		return failure.New(names.ExitNotFound, noFileHint(name), "%s: %w", name, reason)
	}
	return failure.New(names.ExitNotRunable, "", "%s: %w", name, reason)
}

// notFoundHint returns the hint for a name that is not found in PATH.
func notFoundHint(name string) string {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return "did you mean ./" + name + "?"
	}
	if fleet.InPod() {
		return "is it in the launcher's image? PATH is " + os.Getenv("PATH")
	}
	return "is it installed? PATH is " + os.Getenv("PATH")
}

// noFileHint returns the hint for a path that does not exist, or for a file that needs a missing
// file.
func noFileHint(path string) string {
	if _, err := os.Stat(path); err == nil {
		return "the file exists, but the interpreter in its first line or its dynamic loader does not"
	}
	if filepath.IsAbs(path) {
		return ""
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return "it was looked for in " + dir
}

// Done is closed when the command has ended.
func (c *Command) Done() <-chan struct{} { return c.proc.Done() }

// Signal passes sig on to the command and its process group.
func (c *Command) Signal(sig syscall.Signal) {
	switch {
	case !c.shared:
		// The group lives as long as one of its processes does, even after its leader has ended.
		_ = syscall.Kill(-c.proc.PID(), sig) // ESRCH: all have ended
	case c.deaf && sig == syscall.SIGINT:
		_ = c.proc.Signal(syscall.SIGTERM) // os.ErrProcessDone: it has ended
	case sig == syscall.SIGINT || sig == syscall.SIGQUIT:
		// The terminal has sent it to the whole group, and a second signal means "at once" to
		// mpirun.
	default:
		_ = c.proc.Signal(sig) // os.ErrProcessDone: it has ended
	}
}

// Leave is Stop with SIGTERM, for a worker that was told to stop from outside.
func (c *Command) Leave(_ string, grace time.Duration) (number int, later <-chan int) {
	return c.Stop(syscall.SIGTERM, grace, false)
}

// Stop asks the command to end with sig. If ranks run in the launcher, Stop asks them before their
// helpers and launchers, and kills them after grace. For a launcher of ranks on workers, Stop first
// asks these ranks, and signals the launcher's whole process group when they have ended (stopLast).
// If the command has failed, Stop signals the launcher at once.
//
// Stop returns the number of ranks. If number is 0, there is one rank without a number, or the
// number arrives on later.
func (c *Command) Stop(sig syscall.Signal, grace time.Duration, failed bool) (number int, later <-chan int) {
	if c.shared && !c.deaf && sig == syscall.SIGINT || c.drained != nil {
		return 0, nil // the terminal has sent it
	}
	ranks, mpi := c.ranksHere(sig)
	switch {
	case !failed && (mpi || len(ranks) == 0):
		return 0, c.stopLast(sig, grace, func(time.Duration) { c.Signal(sig) })
	case len(ranks) == 0:
		c.Signal(sig)
		return 0, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan []reap.Outcome, 1)
	go func() {
		result, _ := c.reaper.Drain(ctx, c.tree.Find, sig, grace) // the sweep reports what it cannot end
		told <- result.Ranks
	}()
	c.drained = sync.OnceValue(func() []report.StoppedRank { cancel(); return c.outcomes(<-told) })
	if ranks = reap.Apart(ranks); len(ranks) == 1 && ranks[0].Numbers == (reap.Numbers{}) {
		return 0, nil // the command itself, or what its script runs
	}
	return len(ranks), nil
}

// ranksHere returns the command's ranks in the launcher. mpi reports whether an mpirun has started
// them, or may have.
func (c *Command) ranksHere(sig syscall.Signal) (ranks []reap.Proc, mpi bool) {
	if procs, err := c.tree.Find(); err == nil {
		// Hydra passes our mark on to ranks on workers, which may be on this machine.
		below := reap.Below(procs, c.proc.PID())
		ranks = slices.DeleteFunc(reap.Ranks(procs, sig), func(p reap.Proc) bool {
			return p.PID != c.proc.PID() && !slices.ContainsFunc(below, func(b reap.Proc) bool { return b.PID == p.PID })
		})
		mpi = slices.ContainsFunc(procs, func(p reap.Proc) bool { return p.Alive() && names.IsMPIRun(p.Comm) })
	}
	return ranks, mpi
}

// Stopped completes the stop of a command that has ended, and returns how its ranks ended.
func (c *Command) Stopped() []report.StoppedRank {
	if c.drained == nil {
		return nil
	}
	return c.drained()
}

func (c *Command) outcomes(list []reap.Outcome) (all []report.StoppedRank) {
	for _, o := range list {
		name := c.name
		if o.Rank != "" {
			name = "rank " + o.Rank
		}
		all = append(all, report.StoppedRank{Rank: name, Seconds: o.After.Seconds(), Killed: o.Killed})
	}
	return all
}

// Sweep ends the processes that the command left behind, including daemons. If since is not zero,
// processes that were started later are asked in the last fifth of grace.
func (c *Command) Sweep(ctx context.Context, since time.Time, grace time.Duration) error {
	if c.drained != nil {
		c.drained()
	}
	_, err := c.reaper.Rest(ctx, c.tree.Find, since, grace)
	if err != nil {
		return fmt.Errorf("end what %s left behind: %w", c.name, err)
	}
	return nil
}
