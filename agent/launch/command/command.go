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

// envRun marks the processes of the command, so that those which left its
// process group are found when it has ended.
const envRun = "MUSTER_RUN"

// Command is the user's command while it runs.
type Command struct {
	name   string // base name, for sentences
	proc   *reap.Process
	reaper *reap.Reaper
	tree   *reap.Tree
	// shared: it is in our process group, because it may read the terminal.
	// What the terminal sends then reaches it without us.
	shared bool
	// deaf: it is shared, but blocks the terminal's INT (blockInterrupt), and ends by TERM.
	deaf  bool
	links *fleet.Links // of workers that may run its ranks
	// drained ends the stop of its ranks, and returns what has become of them; nil: there is none.
	drained func() []report.StoppedRank
}

// Spec says what to start, and as what.
type Spec struct {
	Argv, Env []string
	Dir       string // "": the current directory
	Streams   console.Streams
	Run       string       // the run's id, which marks the processes
	OwnSlots  int          // ranks that an MPI launcher may start here as its children
	Links     *fleet.Links // of workers that may run its ranks
	Workers   int          // that an MPI launcher calls
}

// Start starts a command with our descriptors. Errors are *failure.Failure with 127 (not found),
// 126 (cannot be run) or 64 (no such directory).
func Start(r *reap.Reaper, s Spec) (c *Command, err error) {
	only := launchesOnly(s.Argv, s.OwnSlots)
	err = onThread(func() (err error) {
		deaf := false
		if only {
			_ = filterSetpgid() // without it the race is as it was
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
		return nil, failure.Usage("the command runs in the launcher: the directory has to be there", "--chdir=%s is no directory here", s.Dir)
	}
	path, err := lookPath(s.Argv[0])
	if err != nil {
		return nil, err
	}
	c := &Command{
		name:   filepath.Base(s.Argv[0]),
		reaper: r,
		tree:   reap.NewTree(envRun, s.Run),
		shared: term.IsTerminal(int(s.Streams.In.Fd())),
		deaf:   deaf,
		links:  s.Links,
	}
	c.proc, err = r.Start(reap.Spec{
		Path:    path,
		Argv:    s.Argv,
		Dir:     s.Dir,
		Env:     append(s.Env, envRun+"="+s.Run),
		Files:   []*os.File{s.Streams.In, s.Streams.Out, s.Streams.Err},
		Setpgid: !c.shared,
	})
	if err != nil {
		return nil, cannotRun(s.Argv[0], err)
	}
	c.tree.Add(c.proc)
	return c, nil
}

// Name is the command's base name, for sentences.
func (c *Command) Name() string { return c.name }

// Status is how the command has ended, once Done is closed.
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

// notFoundHint is for a name that PATH does not lead to.
func notFoundHint(name string) string {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return "did you mean ./" + name + "?"
	}
	if fleet.InPod() {
		return "is it in the launcher's image? PATH is " + os.Getenv("PATH")
	}
	return "is it installed? PATH is " + os.Getenv("PATH")
}

// noFileHint is for a path that leads nowhere, or to a file that needs another.
func noFileHint(path string) string {
	if _, err := os.Stat(path); err == nil {
		return "the file is there; the interpreter in its first line, or its dynamic loader, is not"
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
		// The group lives as long as a member does, also after its leader.
		_ = syscall.Kill(-c.proc.PID(), sig) // ESRCH: nobody is left to tell
	case c.deaf && sig == syscall.SIGINT:
		_ = c.proc.Signal(syscall.SIGTERM) // os.ErrProcessDone: nobody is left to tell
	case sig == syscall.SIGINT || sig == syscall.SIGQUIT:
		// The terminal has sent it to the whole group; twice means "at once" to mpirun.
	default:
		_ = c.proc.Signal(sig) // os.ErrProcessDone: nobody is left to tell
	}
}

// Leave is Stop with SIGTERM because a worker was told to stop from outside.
func (c *Command) Leave(_ string, grace time.Duration) (number int, later <-chan int) {
	return c.Stop(syscall.SIGTERM, grace, false)
}

// Stop asks the command to end with sig. If ranks run here, they are asked before their
// helpers and launchers, and killed after grace. A launcher of ranks on workers is told with
// its whole process group, when these have ended (stopLast); at once if it has failed. It returns the number of ranks; 0: there is
// one without a number, or later gets the number.
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
		result, _ := c.reaper.Drain(ctx, c.tree.Find, sig, grace) // the sweep says what it cannot end
		told <- result.Ranks
	}()
	c.drained = sync.OnceValue(func() []report.StoppedRank { cancel(); return c.outcomes(<-told) })
	if ranks = reap.Apart(ranks); len(ranks) == 1 && ranks[0].Numbers == (reap.Numbers{}) {
		return 0, nil // the command itself, or what its script runs
	}
	return len(ranks), nil
}

// ranksHere are the command's ranks in the launcher. mpi reports whether an mpirun has
// started them, or may have.
func (c *Command) ranksHere(sig syscall.Signal) (ranks []reap.Proc, mpi bool) {
	if members, err := c.tree.Find(); err == nil {
		// Hydra hands our mark to ranks on workers, which may be on this machine.
		below := reap.Below(members, c.proc.PID())
		ranks = slices.DeleteFunc(reap.Ranks(members, sig), func(p reap.Proc) bool {
			return p.PID != c.proc.PID() && !slices.ContainsFunc(below, func(b reap.Proc) bool { return b.PID == p.PID })
		})
		mpi = slices.ContainsFunc(members, func(p reap.Proc) bool { return p.Alive() && names.IsMPIRun(p.Comm) })
	}
	return ranks, mpi
}

// Stopped ends the stop of a command that has ended, and says how its ranks have.
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

// Sweep ends what the command left behind, daemons included. What was started after
// since, if that is not zero, is asked in the last fifth of grace.
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
