package plan

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
)

// TestSharedAssignments checks that assignments that several environments share are in memory once.
func TestSharedAssignments(t *testing.T) {
	cfg := config.Config{Launching: config.Launching{Env: []string{"A=1"}}}
	addresses := framework.Var{Name: "ADDRESSES", Value: "10.0.0.1,10.0.0.2"}
	vars, known := shared{}, Assigned{}
	first := Process{Vars: vars.all([]framework.Var{addresses, {Name: "RANK", Value: "0"}})}.Environment(cfg, known)
	second := Process{Vars: vars.all([]framework.Var{addresses}, []framework.Var{{Name: "RANK", Value: "1"}, {Name: "EMPTY"}})}.Environment(cfg, known)
	require.Equal(t, []string{"A=1", "ADDRESSES=10.0.0.1,10.0.0.2", "RANK=0"}, first)
	require.Equal(t, []string{"A=1", "ADDRESSES=10.0.0.1,10.0.0.2", "RANK=1", "EMPTY="}, second)
	require.Same(t, unsafe.StringData(first[1]), unsafe.StringData(second[1])) //nolint:gosec // G103: only the addresses are compared
	require.Equal(t, []string{"A=1"}, cfg.Env)
}

// TestSharedVariables checks that only equal variables are one.
func TestSharedVariables(t *testing.T) {
	known := shared{}
	first := known.of(framework.Var{Name: "A", Value: "1", Or: []string{"B"}})
	require.Same(t, first, known.of(framework.Var{Name: "A", Value: "1", Or: []string{"B"}}))
	for _, other := range []framework.Var{{Name: "A", Value: "1"}, {Name: "A", Value: "2", Or: []string{"B"}}, {Name: "A", Value: "1", Or: []string{"B"}, Extend: ":"}} {
		require.Equal(t, other, *known.of(other))
	}
	require.Equal(t, framework.Var{Name: "A", Value: "1", Or: []string{"B"}}, *first)
}
