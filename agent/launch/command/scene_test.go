//go:build linux

package command

import (
	"bytes"
	osexec "os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// TestHasEnded: a listed process that has ended, collected or not, is no process whose
// counters the kernel hides, and neither is another one that got its pid.
func TestHasEnded(t *testing.T) {
	child := osexec.Command("sleep", "60")
	require.NoError(t, child.Start())
	p, err := reap.Stat(child.Process.Pid, new(bytes.Buffer))
	require.NoError(t, err)
	require.False(t, hasEnded(p))
	other := p
	other.Start++
	require.True(t, hasEnded(other))
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.True(t, hasEnded(p))
}

// TestASessionOfAWorker: a process that carries a session's mark is told of by its worker.
func TestASessionOfAWorker(t *testing.T) {
	t.Setenv(names.EnvSession, "outer")
	for mark, want := range map[string]bool{"": false, names.EnvSession + "=outer": false, names.EnvSession + "=inner": true} {
		child := osexec.Command("sleep", "60")
		child.Env = []string{"A=b", mark}
		require.NoError(t, child.Start())
		require.Equal(t, want, inSession(child.Process.Pid, new(bytes.Buffer)), mark)
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	}
}
