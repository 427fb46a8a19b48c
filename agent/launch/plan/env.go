package plan

import (
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
)

// Merge puts the plan's variables into the user's environment; warnings name
// what the user has set otherwise, and keeps.
func (p Plan) Merge(env []string) (merged, warnings []string) {
	set, warnings := p.Settle(env)
	return WithVars(env, set), warnings
}

// Settle leaves the user's variables out. An outer launcher's broker is not the
// user's choice.
func (p Plan) Settle(env []string) (set []framework.Var, warnings []string) {
	var user []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, names.EnvBroker+"=") {
			user = append(user, kv)
		}
	}
	return framework.Merge(user, p.Vars)
}

// WithVars sets variables in an environment, each once: of two, getenv(3) takes
// the first.
func WithVars(env []string, vars []framework.Var) []string {
	ours := map[string]bool{}
	for _, v := range vars {
		ours[v.Name] = true
	}
	merged := make([]string, 0, len(env)+len(vars))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !ours[name] {
			merged = append(merged, kv)
		}
	}
	for _, v := range vars {
		merged = append(merged, v.Name+"="+v.Value)
	}
	return merged
}

// WithAssignments adds K=V entries to an environment, in the place of what is
// there under their names.
func WithAssignments(env, list []string) []string {
	var vars []framework.Var
	for _, kv := range list {
		name, value, _ := strings.Cut(kv, "=")
		vars = append(vars, framework.Var{Name: name, Value: value})
	}
	return WithVars(env, vars)
}

// WithoutMuster leaves our own variables behind: those of an outer launcher or
// of the user's shell are not the worker's.
func WithoutMuster(env []string) []string {
	var kept []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "MUSTER_") {
			kept = append(kept, kv)
		}
	}
	return kept
}
