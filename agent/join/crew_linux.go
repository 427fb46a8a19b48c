package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/proc"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// crew is the set of processes of one attempt on this member. Its methods are called by one
// goroutine. Ends arrive on a channel.
type crew struct {
	reaper  *reap.Reaper
	launch  framework.Launch
	attempt int
	files   string // directory of the launch's files, "" if there are none
	ends    chan end
	wg      sync.WaitGroup

	resolving context.CancelFunc

	procs map[int]*child // by index in the launch
	over  chan struct{}  // closed when the attempt is over: what starts later is killed
	left  chan struct{}  // closed when nobody reads ends any more
	kills int            // memory kills of the container before the attempt
	doubt doubt
}

// child is a process that a crew has started, or tries to start.
type child struct {
	tree    *reap.Tree
	started chan struct{} // closed when it runs, or could not be started
	process *reap.Process // set before that; nil: it could not be started
	ended   bool
	told    bool   // told to stop
	reason  string // reason of its end, if it ends now
}

// running returns the process, or nil if it has not been started.
func (p *child) running() *reap.Process {
	select {
	case <-p.started:
		return p.process
	default:
		return nil
	}
}

func newCrew(reaper *reap.Reaper, launch framework.Launch, attempt int, here place) (*crew, error) {
	c := &crew{reaper: reaper, launch: launch, attempt: attempt, ends: make(chan end), resolving: func() {}, procs: map[int]*child{},
		over: make(chan struct{}), left: make(chan struct{}), kills: proc.MemoryKills(proc.Cgroup)}
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

// resolve waits for the names that the processes are told. The channel is closed when the processes
// can be started. It is nil if there is nothing to wait for.
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

// start starts a process, and does not wait for it: the file system of its program may not answer. A
// failure to start becomes its end.
func (c *crew) start(index int, spec reap.Spec) {
	id := wire.NewID()
	spec.Env = proc.Marked(spec.Env, id)
	one := &child{tree: c.reaper.Table(names.EnvSession).Tree(id), started: make(chan struct{})}
	c.procs[index] = one
	c.wg.Go(func() {
		exit := c.follow(one, spec)
		select {
		case c.ends <- end{index, exit}:
		case <-c.left:
		}
	})
}

// follow starts a process and returns how it ended.
func (c *crew) follow(one *child, spec reap.Spec) wire.ExitRecord {
	path, err := proc.LookOwnPath(spec.Argv[0], spec.Dir)
	if err == nil {
		spec.Path = path
		one.process, err = proc.Start(c.reaper, one.tree, spec)
	}
	close(one.started)
	if err != nil {
		x := proc.Unstarted(err)
		x.EndedMillis = time.Now().UnixMilli()
		return x
	}
	select {
	case <-c.over: // nothing else would stop it
		_ = signalGroup(one.process, syscall.SIGKILL) // it may have ended
	default:
	}
	s := one.process.Status()
	return proc.Ended(s, proc.MemoryKills(proc.Cgroup)-c.kills, time.Now())
}

// note records an end, with its reason if the process did not end by itself.
func (c *crew) note(e end) end {
	p := c.procs[e.Process]
	p.ended = true
	if e.Exit.Error == "" {
		e.Exit.Reason = p.reason
	}
	return e
}

// stop stops one process and its descendants. The ranks are told first, so that those below a
// launcher of their own can write a checkpoint.
func (c *crew) stop(index int, grace time.Duration) {
	p := c.procs[index]
	if p == nil || p.told {
		return
	}
	p.told = true
	if !p.ended {
		p.reason = wire.ReasonStopped
	}
	c.wg.Go(func() {
		select {
		case <-p.started:
		case <-c.over:
			return // the end of the attempt stops it
		}
		ctx, cancel := context.WithTimeout(context.Background(), grace+proc.KillMargin)
		defer cancel()
		_, _ = c.reaper.Drain(ctx, p.tree.Find, syscall.SIGTERM, grace) // the end of the attempt looks again for what is left
	})
}

// skip ends a process that was stopped before it was to be started. ok is false if that is known, or
// if there is no such process.
func (c *crew) skip(index int) (e end, ok bool) {
	if index < 0 || index >= len(c.launch.Processes) || c.procs[index] != nil {
		return e, false
	}
	one := &child{started: make(chan struct{}), ended: true, told: true}
	close(one.started)
	c.procs[index] = one
	return stoppedEarly(index), true
}

// stoppedEarly is the end of a process that was not started, because it was stopped before.
func stoppedEarly(index int) end {
	return end{index, proc.Ended(reap.Status{Code: 128 + int(syscall.SIGTERM), Signal: syscall.SIGTERM}, 0, time.Now())}
}

// signal passes a signal on, like tini -g.
func (c *crew) signal(sig syscall.Signal) {
	for _, p := range c.procs {
		if running := p.running(); running != nil && !p.ended {
			_ = signalGroup(running, sig) // it may have ended
		}
	}
}

// signalGroup sends a signal to a process and its group. A process that has our terminal leads none.
func signalGroup(p *reap.Process, sig syscall.Signal) error {
	if p.SignalGroup(sig) == nil {
		return nil
	}
	return p.Signal(sig)
}

// clear stops all our descendants, the processes of the attempt first, and removes the files. It
// returns at once; the channel is closed when no process is left. reason is the reason of the ends,
// and sig is the signal for the ranks. When ctx ends, the remaining processes are killed.
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
		stop, cancel := context.WithTimeout(ctx, grace+proc.KillMargin)
		defer cancel()
		began := time.Now()
		c.awaitStarts(stop)
		close(c.over)
		if reason == wire.ReasonPreempted {
			c.sayStopping(sig, grace, say)
		}
		report, err := c.reaper.Drain(stop, c.find, sig, grace)
		if reason == wire.ReasonPreempted {
			sayStopped(report.Ranks, say)
		}
		if err == nil {
			_, err = c.reaper.Drain(stop, proc.Below(c.reaper), syscall.SIGTERM, proc.RestGrace(grace, began))
		}
		if err != nil {
			_, _ = proc.KillBelow(c.reaper) // what is left is in uninterruptible sleep, or belongs to another user
		}
		if c.files != "" {
			_ = os.RemoveAll(c.files) // in our private directory
		}
	})
	return cleared
}

// startTime is how long a stop waits for starts. A start hangs if the file system of its program does
// not answer, and the other ranks need their grace.
const startTime = time.Second

// awaitStarts waits until all processes run or could not be started, for startTime at most.
func (c *crew) awaitStarts(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, p := range c.procs {
		select {
		case <-p.started:
		case <-ctx.Done():
		}
	}
}

// unstarted returns ends of the processes that still wait for a file system. They are killed when
// they start.
func (c *crew) unstarted() (all []end) {
	for i, p := range c.procs {
		select {
		case <-p.started:
		default:
			all = append(all, stoppedEarly(i))
		}
	}
	return all
}

// sayStopping reports how many ranks were sent sig.
func (c *crew) sayStopping(sig syscall.Signal, grace time.Duration, say func(format string, words ...any)) {
	if words := proc.Stopping(c.find, sig, grace); words != "" {
		say("%s: %s; a second one kills at once", proc.SignalName(sig), words)
	}
}

// sayStopped reports how the ranks have ended. A rank that has not ended is killed next, because a
// second signal has come.
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

// find returns the processes of every tree, each once.
func (c *crew) find() ([]reap.Proc, error) {
	var trees []*reap.Tree
	for _, p := range c.procs {
		if p.running() != nil {
			trees = append(trees, p.tree)
		}
	}
	return proc.All(trees)
}
