package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
)

// outside is a framework in a program of its own, --framework plugin:NAME. The
// program lives for one Prepare: nothing of it is left to look after.
type outside struct {
	program external.Program
	open    external.Opener
	starter external.Starter // nil: no reaper runs, one is made
	log     *slog.Logger
}

// pluginNamed finds the program among --plugin. Errors are *failure.Failure with code 64.
func pluginNamed(cfg Config) (framework.Framework, error) {
	program, err := external.Find(cfg.Plugins, strings.TrimPrefix(cfg.Framework, external.Prefix))
	if err != nil {
		return nil, failure.Usage("--plugin NAME=/path/of/program@sha256:HEX, with the HEX that sha256sum prints", "%w", err)
	}
	if cfg.OpenPlugin == nil {
		return nil, failure.Usage("agent-launcher-plugins has them", "this launcher has no plugins")
	}
	return outside{program: program, open: cfg.OpenPlugin, starter: cfg.starter, log: cmp.Or(cfg.log, slog.New(slog.DiscardHandler))}, nil
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
