package join

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

const (
	// killMargin is how long a stop waits for the kernel beyond its grace.
	killMargin = 10 * time.Second
	// restTime is the least grace of what no process of ours leads to any more.
	restTime = time.Second
)

// crew are the processes of one attempt on this member. Its methods are called
// by one goroutine; ends come on a channel.
type crew struct {
	reaper  *reap.Reaper
	launch  framework.Launch
	attempt int
	files   string // directory of the launch's files, "" if it has none
	ends    chan end
	wg      sync.WaitGroup

	resolving context.CancelFunc

	procs map[int]*proc // by index of the launch
	kills int           // OOM kills of the container before it began
	doubt doubt
}

type proc struct {
	*reap.Process
	tree   *reap.Tree
	ended  bool
	told   bool   // to stop
	reason string // of its end, if it ends now
}

func newCrew(reaper *reap.Reaper, launch framework.Launch, attempt int, here place) (*crew, error) {
	c := &crew{reaper: reaper, launch: launch, attempt: attempt, ends: make(chan end), resolving: func() {}, procs: map[int]*proc{}, kills: memoryKills()}
	if len(launch.Files) == 0 {
		return c, nil
	}
	dir, err := rundir.Laid(here.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range launch.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("lay files: %w", err), os.RemoveAll(dir))
		}
	}
	c.files = dir
	return c, nil
}

// resolve waits for the names that processes are told; the channel is closed when
// they can be started, and nil if there is nothing to wait for.
func (c *crew) resolve(hosts map[string]string, say func(format string, words ...any)) chan struct{} {
	ctx, cancel := context.WithCancel(context.Background())
	c.resolving = cancel
	if len(hosts) == 0 {
		return nil
	}
	resolved := make(chan struct{})
	c.wg.Go(func() {
		defer close(resolved)
		if err := awaitHosts(ctx, hosts, net.DefaultResolver.LookupHost); err != nil && ctx.Err() == nil {
			say("%v", err)
		}
	})
	return resolved
}

// start starts a process; what goes wrong is its end.
func (c *crew) start(index int, spec reap.Spec) {
	id := wire.NewID()
	spec.Env = lastOfEach(append(spec.Env, names.EnvSession+"="+id))
	one := &proc{tree: reap.NewTree(names.EnvSession, id)}
	c.procs[index] = one
	path, err := lookPath(spec.Argv[0], spec.Dir)
	if err == nil {
		spec.Path = path
		one.Process, err = c.reaper.Start(spec)
	}
	if err != nil {
		one.ended = true
		c.wg.Go(func() { c.ends <- end{index, failedStart(err)} })
		return
	}
	one.tree.Add(one.Process)
	c.wg.Go(func() {
		s := one.Status()
		c.ends <- end{index, wire.ExitRecord{Code: s.Code, Signal: int(s.Signal), Core: s.Core,
			OOM: memoryKills() - c.kills, EndedMillis: time.Now().UnixMilli()}}
	})
}

func failedStart(err error) wire.ExitRecord {
	x := wire.ExitRecord{Code: names.ExitNotRunable, Error: err.Error(), EndedMillis: time.Now().UnixMilli()}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOTDIR) {
		x.Code = names.ExitNotFound
	}
	return x
}

// lookPath finds a program as execvp does. os/exec starts nothing here: that is
// the reaper's.
func lookPath(name, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if dir != "" && !filepath.IsAbs(name) {
			return filepath.Join(dir, name), nil
		}
		return name, nil
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // PATH names the working directory: the user's own choice
	}
	if err != nil {
		return "", fmt.Errorf("start %s: %w", name, err)
	}
	return path, nil
}

// note takes an end down, and says why it came where that was not the process's
// own doing.
func (c *crew) note(e end) end {
	p := c.procs[e.Process]
	p.ended = true
	if e.Exit.Error == "" {
		e.Exit.Reason = p.reason
	}
	return e
}

// stop ends one process and what descends from it: the ranks first, so that
// those below a launcher of their own can write a checkpoint.
func (c *crew) stop(index int, grace time.Duration) {
	p := c.procs[index]
	if p == nil || p.Process == nil || p.told {
		return
	}
	p.told = true
	if !p.ended {
		p.reason = wire.ReasonStopped
	}
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace+killMargin)
		defer cancel()
		_, _ = c.reaper.Drain(ctx, p.tree.Find, syscall.SIGTERM, grace) // what is left is looked for again at the attempt's end
	})
}

// alive: a process that was started has not ended.
func (c *crew) alive() bool {
	for _, p := range c.procs {
		if !p.ended {
			return true
		}
	}
	return false
}

// signal passes a signal on, as tini -g does.
func (c *crew) signal(sig syscall.Signal) {
	for _, p := range c.procs {
		if p.Process != nil && !p.ended && p.SignalGroup(sig) != nil {
			_ = p.Process.Signal(sig) // it leads no group: it has our terminal
		}
	}
}

// clear ends everything that descends from us, the attempt's processes first, and
// takes the files away. It returns at once; the channel is closed when nothing
// lives. reason is that of the ends, sig what the ranks are asked with; when ctx
// ends, whatever lives is killed.
func (c *crew) clear(ctx context.Context, reason string, sig syscall.Signal, grace time.Duration, say func(format string, words ...any)) <-chan struct{} {
	for _, p := range c.procs {
		if !p.ended && p.reason == "" {
			p.reason = reason
		}
	}
	c.resolving()
	cleared := make(chan struct{})
	c.wg.Go(func() {
		defer close(cleared)
		stop, cancel := context.WithTimeout(ctx, grace+killMargin)
		defer cancel()
		began := time.Now()
		if reason == wire.ReasonPreempted {
			c.sayStopping(sig, grace, say)
		}
		report, err := c.reaper.Drain(stop, c.find, sig, grace)
		if reason == wire.ReasonPreempted {
			sayStopped(report.Ranks, say)
		}
		if err == nil {
			_, err = c.reaper.Drain(stop, below, syscall.SIGTERM, min(grace, max(grace-time.Since(began), restTime)))
		}
		if err != nil {
			kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), killMargin)
			defer cancel()
			_, _ = c.reaper.Stop(kill, below, 0) // in uninterruptible sleep, or another user's
		}
		if c.files != "" {
			_ = os.RemoveAll(c.files) // in our private directory
		}
	})
	return cleared
}

// below is everything that descends from us.
func below() ([]reap.Proc, error) {
	procs, err := reap.Scan(names.EnvSession)
	return reap.Below(procs, os.Getpid()), err
}

// sayStopping says how many ranks sig asks to end.
func (c *crew) sayStopping(sig syscall.Signal, grace time.Duration, say func(format string, words ...any)) {
	members, err := c.find()
	if err != nil {
		return
	}
	if n := len(reap.Apart(reap.Ranks(members, sig))); n > 0 {
		say("%s: %s; a second one kills at once", signalName(sig), reap.Stopping(reap.Count(n, "rank"), grace))
	}
}

// sayStopped says how they have ended. A rank that has not is killed next: a second signal has come.
func sayStopped(ranks []reap.Outcome, say func(format string, words ...any)) {
	if len(ranks) == 0 {
		return
	}
	var all []reap.Ended
	for _, r := range ranks {
		name := ""
		if r.Rank != "" {
			name = "rank " + r.Rank
		}
		all = append(all, reap.Ended{Name: name, After: r.After, Killed: r.Killed || !r.Ended()})
	}
	say("%s", reap.Stopped(all, "rank"))
}

// find gives the processes of every tree, each once.
func (c *crew) find() ([]reap.Proc, error) {
	seen := map[int]bool{}
	var all []reap.Proc
	for _, p := range c.procs {
		if p.Process == nil {
			continue
		}
		list, err := p.tree.Find()
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if !seen[one.PID] {
				seen[one.PID] = true
				all = append(all, one)
			}
		}
	}
	return all, nil
}
