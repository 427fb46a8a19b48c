package plan

import (
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/exec/names"
)

// Merge adds the plan's variables to the user's environment. warnings name the variables that the
// user has set to other values, which Merge keeps.
func (p Plan) Merge(env []string) (merged, warnings []string) {
	set, warnings := p.Settle(env)
	return WithVars(env, set), warnings
}

// Settle returns the plan's variables without those that the user has set. The broker variable of
// an outer launcher does not count as set by the user, and neither does the trace context of the
// launcher itself. If --env has a trace context, the plan has none.
func (p Plan) Settle(env []string) (set []framework.Var, warnings []string) {
	var user []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, names.EnvBroker+"=") && !isTrace(kv) {
			user = append(user, kv)
		}
	}
	return framework.Merge(user, p.Vars)
}

// WithVars sets variables in an environment. Each name occurs once, because getenv(3) returns the
// first of two.
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

// WithAssignments adds K=V entries to an environment and replaces entries of the same name.
func WithAssignments(env, list []string) []string {
	var vars []framework.Var
	for _, kv := range list {
		name, value, _ := strings.Cut(kv, "=")
		vars = append(vars, framework.Var{Name: name, Value: value})
	}
	return WithVars(env, vars)
}

// WithoutMuster returns env without our own variables and without a trace context. Variables of an
// outer launcher, or of the user's shell, are not meant for the worker.
func WithoutMuster(env []string) []string {
	var kept []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, "MUSTER_") && !isTrace(kv) {
			kept = append(kept, kv)
		}
	}
	return kept
}
