package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
)

func TestShimsAreLinksAndLeadPATH(t *testing.T) {
	dir := t.TempDir()
	argv, env, err := WithShims(true, dir, "/muster/agent", []string{"pdsh", "-w", "a"}, []string{"A=b", "PATH=/usr/bin:/bin"})
	require.NoError(t, err)
	shims := filepath.Join(dir, "shims")
	require.Equal(t, []string{filepath.Join(shims, "pdsh"), "-w", "a"}, argv)
	require.Equal(t, []string{"A=b", "PATH=" + shims + ":/usr/bin:/bin"}, env)
	for _, name := range []string{"ssh", "rsh", "pdsh"} {
		target, err := os.Readlink(filepath.Join(shims, name))
		require.NoError(t, err)
		require.Equal(t, "/muster/agent", target)
	}
	// A second call, as for agent env under agent run, does not add the directory to PATH again and
	// returns no error.
	argv, again, err := WithShims(true, dir, "/muster/agent", []string{"sh"}, env)
	require.NoError(t, err)
	require.Equal(t, []string{"sh"}, argv)
	require.Equal(t, env, again)
	require.Equal(t, shims, pathWith(shims, nil).Value)
	require.Equal(t, shims, pathWith(shims, []string{"PATH="}).Value)
}

func TestNoShimsUnlessAskedFor(t *testing.T) {
	dir := t.TempDir()
	argv, env, err := WithShims(false, dir, "/muster/agent", []string{"ssh"}, []string{"PATH=/bin"})
	require.NoError(t, err)
	require.Equal(t, []string{"ssh"}, argv)
	require.Equal(t, []string{"PATH=/bin"}, env)
	vars, err := ShimVars(config.Config{}, plan.Plan{Broker: filepath.Join(dir, "s")}, env)
	require.NoError(t, err)
	require.Empty(t, vars)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
