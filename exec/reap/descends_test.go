//go:build linux

package reap

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDescends(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	child, self := cmd.Process.Pid, os.Getpid()
	for _, c := range []struct {
		pid, root int
		want      bool
	}{
		{child, self, true},
		{child, os.Getppid(), true},
		{self, child, false},
		{self, self, false},
		{os.Getppid(), self, false},
	} {
		got, err := Descends(c.pid, c.root)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%d below %d", c.pid, c.root)
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	_, err := Descends(child, self)
	require.Error(t, err, "a process that has ended has no ancestors")
}
