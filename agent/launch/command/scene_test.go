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

// TestHasEnded checks that a listed process that has ended, reaped or not, does not count as a
// process whose counters the kernel hides. The same holds if another process now has its pid.
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

// TestASessionOfAWorker checks that the launcher leaves a process with the mark of a session to its
// worker.
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
