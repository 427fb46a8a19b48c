package plan

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/tracecontext"
)

// traceVars returns the variables that hand the attempt's trace context to the program, so that its
// spans become children of the attempt's. There are none if --env has a trace context.
func traceVars(s Situation) []framework.Var {
	if !s.Trace.Valid() || slices.ContainsFunc(s.Config.Env, isTrace) {
		return nil
	}
	const why = "spans of the program become children of the attempt's span"
	vars := []framework.Var{{Name: tracecontext.EnvParent, Value: s.Trace.String(), Why: why, Default: true}}
	if s.Trace.State != "" {
		vars = append(vars, framework.Var{Name: tracecontext.EnvState, Value: s.Trace.State, Why: why, Default: true})
	}
	return vars
}

// isTrace reports whether K=V is part of a trace context.
func isTrace(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return name == tracecontext.EnvParent || name == tracecontext.EnvState
}

// Trace returns the trace context that the plan hands to its program, K=V each, or nothing.
func (p Plan) Trace() (env []string) {
	for _, v := range p.Vars {
		if kv := v.Name + "=" + v.Value; isTrace(kv) {
			env = append(env, kv)
		}
	}
	return env
}
