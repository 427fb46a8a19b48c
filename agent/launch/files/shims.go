package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
)

// shimNames are the programs that the agent stands in for, by links of these
// names to it.
func shimNames() []string { return []string{"ssh", "rsh", config.Pdsh} }

// makeShims makes the links in a directory of their own below dir, which is a
// private directory, and returns it. The machine's own ssh stays what it is.
func makeShims(dir, agent string) (string, error) {
	shims := filepath.Join(dir, "shims")
	if err := os.MkdirAll(shims, 0o700); err != nil {
		return "", fmt.Errorf("make a directory of shims: %w", err)
	}
	for _, name := range shimNames() {
		if err := replaceLink(agent, filepath.Join(shims, name)); err != nil {
			return "", err
		}
	}
	return shims, nil
}

// pathWith is PATH with the shims before what env has. It is no variable of the
// plan: those give way to the user's, and everybody has set PATH.
func pathWith(shims string, env []string) framework.Var {
	path := shims
	for _, kv := range env {
		if rest, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = rest
			if first, _, _ := strings.Cut(rest, ":"); first != shims {
				path = shims + ":" + rest
			}
		}
	}
	return framework.Var{Name: "PATH", Value: strings.TrimSuffix(path, ":"), Why: "ssh, rsh and pdsh are the agent (--shims)"}
}

// WithShims is a command and its environment with shims in dir, if they are
// wanted. The command itself may be one.
func WithShims(wanted bool, dir, agent string, argv, env []string) (newArgv, newEnv []string, err error) {
	if !wanted {
		return argv, env, nil
	}
	shims, err := makeShims(dir, agent)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(shimNames(), argv[0]) {
		argv = append([]string{filepath.Join(shims, argv[0])}, argv[1:]...)
	}
	return argv, plan.WithVars(env, []framework.Var{pathWith(shims, env)}), nil
}

// ShimVars is what `agent env --shims` exports besides the plan's: the links lie
// beside the broker's socket.
func ShimVars(cfg config.Config, planned plan.Plan, env []string) ([]framework.Var, error) {
	if !cfg.Shims {
		return nil, nil
	}
	agent, err := AgentPath()
	if err != nil {
		return nil, err
	}
	shims, err := makeShims(filepath.Dir(planned.Broker), agent)
	if err != nil {
		return nil, err
	}
	return []framework.Var{pathWith(shims, env)}, nil
}
