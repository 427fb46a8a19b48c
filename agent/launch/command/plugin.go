//go:build linux

package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/exec/reap"
)

// outside is a framework in a program of its own, --framework plugin:NAME. The program runs for one
// Prepare, and leaves nothing behind.
type outside struct {
	program external.Program
	open    external.Opener
	starter external.Starter // nil: no reaper runs, so one is made
	log     *slog.Logger
}

// Plugins returns a function that makes frameworks from plugins' programs.
func Plugins(cfg config.Config, starter external.Starter, log *slog.Logger) config.MakePlugin {
	return func(program external.Program) framework.Framework {
		return outside{program: program, open: cfg.OpenPlugin, starter: starter, log: log}
	}
}

// Prepare implements framework.Framework. Errors begin with "plugin NAME:".
func (o outside) Prepare(c framework.Cluster) (framework.Launch, error) {
	starter := o.starter
	if starter == nil {
		own, end := ownStarter()
		defer end()
		starter = own
	}
	// It is bounded without a context: the start and the answer have 5 s each.
	p, err := o.open(context.Background(), external.Config{Program: o.program, Dir: c.RunDir, Starter: starter, Log: o.log})
	if err != nil {
		return framework.Launch{}, err
	}
	l, err := p.Prepare(c)
	if cerr := p.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("plugin %s: end it: %w", o.program.Name, cerr))
	}
	if err != nil {
		return framework.Launch{}, err
	}
	return l, nil
}

// NewStarter returns a starter of plugins as children of a running reaper.
func NewStarter(r *reap.Reaper) external.Starter { return starter{r} }

// ownStarter returns a starter with a reaper of its own, which runs until end is called.
func ownStarter() (s external.Starter, end func()) {
	r := reap.New()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) }) // fails only if it is run twice
	return starter{r}, func() {
		cancel()
		running.Wait()
	}
}

type starter struct{ reaper *reap.Reaper }

// Start implements external.Starter. It marks the plugin with an id of its own, as for a command,
// so that processes that leave the plugin's process group are found too.
func (s starter) Start(c external.Command) (external.Process, error) {
	id := NewRunID()
	proc, err := s.reaper.Start(reap.Spec{Path: c.Path, Argv: c.Argv, Env: append(slices.Clone(c.Env), envRun+"="+id), Files: c.Files, Setsid: true})
	if err != nil {
		return nil, err
	}
	p := &pluginProcess{reaper: s.reaper, proc: proc, tree: s.reaper.Table(envRun).Tree(id)}
	p.tree.Add(proc)
	return p, nil
}

type pluginProcess struct {
	reaper *reap.Reaper
	proc   *reap.Process
	tree   *reap.Tree
}

// killTime bounds the wait for killed processes, because a process in uninterruptible sleep does
// not end.
const killTime = 5 * time.Second

// Wait implements external.Process.
func (p *pluginProcess) Wait() int { return p.proc.Status().Code }

// Kill implements external.Process.
func (p *pluginProcess) Kill() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), killTime, errors.New("killed, but still running"))
	defer cancel()
	_ = p.proc.SignalGroup(syscall.SIGKILL) // os.ErrProcessDone: the scan finds the rest
	_, err := p.reaper.Stop(ctx, p.tree.Find, 0)
	return err
}

// NewRunID returns a short random name for a run.
func NewRunID() string { return strings.ToLower(rand.Text()[:10]) }
