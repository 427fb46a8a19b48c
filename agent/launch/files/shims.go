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

// shimNames returns the names of the programs that the agent replaces. Each is a link to the agent.
func shimNames() []string { return []string{"ssh", "rsh", config.Pdsh} }

// makeShims makes the links in a directory of their own below dir, a private directory, and returns
// that directory. The machine's own ssh does not change.
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

// pathWith returns PATH with the shims before the value in env. It is no variable of the plan,
// because plan variables yield to the user's, and every user has set PATH.
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

// WithShims returns argv and env with the shims in dir, if they are wanted. The command itself may
// be a shim.
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

// ShimVars returns the variables that `agent env --shims` exports besides the plan's. The links lie
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
