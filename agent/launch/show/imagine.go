//go:build linux

package show

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/files"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
)

// imagine returns the plan that a launcher with cfg would make for the current workers. It starts
// nothing and waits for nothing.
func imagine(ctx context.Context, cfg config.Config, site Site) (plan.Plan, error) {
	if err := cfg.ValidateHosts(); err != nil {
		return plan.Plan{}, err
	}
	if len(cfg.Command) == 0 {
		cfg.Command = []string{"COMMAND"} // any command works, because only its environment is used
	}
	agent, err := files.AgentPath()
	if err != nil {
		return plan.Plan{}, err
	}
	dir, err := rundir.Create()
	if err != nil {
		return plan.Plan{}, err
	}
	paths, err := files.Choose(cfg, site.Ground, dir, fleet.InPod())
	if err != nil {
		return plan.Plan{}, err
	}
	s := plan.Situation{Config: cfg, Files: paths.Files, Dir: dir, Broker: filepath.Join(dir, names.BrokerSocket), Agent: agent, Env: os.Environ(),
		Port: plan.AnyPort(cfg.Port, rand.IntN), Plugins: command.Plugins(cfg, nil, slog.New(slog.DiscardHandler))}
	if s.Ranked, err = site.List(ctx, cfg, agent, build.Version()); err != nil {
		return plan.Plan{}, err
	}
	s.Ranked = plan.Order(cfg, s.Ranked)
	if len(s.Ranked) == 0 && len(cfg.Pods) > 0 {
		return plan.Plan{}, failure.New(names.ExitDeadline, "agent run waits for them", "no workers yet: no pod has the name %s", strings.Join(cfg.Pods, " or "))
	}
	if len(s.Ranked) == 0 {
		return plan.Plan{}, failure.New(names.ExitDeadline, "agent run waits for them", "no workers yet: no pod matches %s", cfg.WorkerSelector())
	}
	return paths.Plan(s)
}
