package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/launch/config"
)

// outside is a framework in a program of its own, --framework plugin:NAME. The
// program lives for one Prepare: nothing of it is left to look after.
type outside struct {
	program external.Program
	open    external.Opener
	starter external.Starter // nil: no reaper runs, one is made
	log     *slog.Logger
}

// plugins makes frameworks of plugins' programs.
func plugins(cfg config.Config, starter external.Starter, log *slog.Logger) config.MakePlugin {
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
	// Bounded without a context: start and answer have 5 s each.
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
