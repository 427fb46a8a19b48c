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
	known := Assigned{}
	first := Process{Vars: []framework.Var{addresses, {Name: "RANK", Value: "0"}}}.EnvironmentOf(cfg, known)
	second := Process{Vars: []framework.Var{addresses, {Name: "RANK", Value: "1"}, {Name: "EMPTY"}}}.EnvironmentOf(cfg, known)
	require.Equal(t, []string{"A=1", "ADDRESSES=10.0.0.1,10.0.0.2", "RANK=0"}, first)
	require.Equal(t, []string{"A=1", "ADDRESSES=10.0.0.1,10.0.0.2", "RANK=1", "EMPTY="}, second)
	require.Same(t, unsafe.StringData(first[1]), unsafe.StringData(second[1])) //nolint:gosec // G103: only the addresses are compared
	require.Equal(t, []string{"A=1"}, cfg.Env)
}
