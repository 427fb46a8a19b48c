package plan

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/tracecontext"
	"github.com/musterhq/muster/rendezvous"
)

// TestProgramsGetTheTraceOfTheAttempt checks commands in the launcher and processes on workers.
func TestProgramsGetTheTraceOfTheAttempt(t *testing.T) {
	trace, err := tracecontext.Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1")
	require.NoError(t, err)
	want := trace.Environ()
	situation := func(framework string, change func(*Situation)) Situation {
		s := Situation{Config: config.Defaults(), Ranked: []rendezvous.Worker{{Name: "w-0", IP: "10.0.0.1"}}, Agent: "/muster/agent", Files: Files{Rsh: "/run/muster/rsh"}, Port: 20000, Trace: trace}
		s.Config.Command, s.Config.Framework, s.Config.Workers = []string{"./program"}, framework, 1
		change(&s)
		return s
	}
	caller := []string{"TRACEPARENT=00-11111111111111111111111111111111-2222222222222222-01", "TRACESTATE=x=y"}

	p, err := Make(situation("mpi", func(*Situation) {}))
	require.NoError(t, err)
	require.Equal(t, want, p.Trace())
	env, warnings := p.Merge(caller)
	require.Subset(t, env, want)
	require.NotSubset(t, env, caller)
	require.Empty(t, warnings)

	p, err = Make(situation("plain", func(*Situation) {}))
	require.NoError(t, err)
	require.Subset(t, p.Processes[0].Environment(config.Config{}, Assigned{}), want)
	require.Equal(t, want, p.Trace(), "for agent rsh beside a group")

	// The user's own context, by --env or in the pod, stays without a warning.
	p, err = Make(situation("mpi", func(s *Situation) { s.Config.Env = caller[:1] }))
	require.NoError(t, err)
	require.Empty(t, p.Trace())
	p, err = Make(situation("plain", func(s *Situation) { s.Ranked[0].Env = caller }))
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(p.Processes[0].Environment(config.Config{}, Assigned{}), isTrace))
	require.Empty(t, p.Warnings)

	// Without a trace there is no variable.
	p, err = Make(situation("plain", func(s *Situation) { s.Trace = tracecontext.Context{} }))
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(p.Processes[0].Environment(config.Config{}, Assigned{}), isTrace))
}
