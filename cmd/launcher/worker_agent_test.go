//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// TestClusterWorkerAgent follows the hint for a launcher whose agent has another path than the
// workers' agent.
func TestClusterWorkerAgent(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		command []string
		code    int
		says    string
	}{
		{[]string{"--framework=plain", "--", "echo", "fine"}, 0, ""},
		{[]string{"--", "sh", "-c", "echo fine"}, 0, "does not exist in its container; mpirun would hang if the command starts Open MPI's"},
		{[]string{"--", "mpiexec.hydra", "fine"}, 0, ""},
		{[]string{"--", "mpirun", "fine"}, names.ExitHopeless, "hint: put the agent at the same path in the launcher's and the workers' images"},
	} {
		t.Run(strings.Join(row.command, " "), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			home := filepath.Join(c.dir, "home")
			require.NoError(t, os.Mkdir(home, 0o700))
			for _, name := range []string{"agent", "agent-launcher"} {
				require.NoError(t, os.Link(filepath.Join(bin, name), filepath.Join(home, name)))
			}
			for _, name := range []string{"mpirun", "mpiexec.hydra"} {
				require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte("#!/bin/sh\nexec "+bin+"/agent rsh pi-worker-0 echo $1\n"), 0o755))
			}
			l := c.runWith(home, nil, append([]string{"--workers=1", "--hopeless-after=1s", "--worker-agent=/muster/agent"}, row.command...)...)
			eventually(t, "the launcher waits", func() bool { return strings.Contains(l.err.String(), "0/1 ready") })
			require.NoError(t, os.Remove(filepath.Join(home, "agent")), "the launcher's path does not exist on the workers")
			c.start(0)
			require.Equal(t, row.code, l.end(t), l.err.String())
			if row.code == 0 {
				require.Contains(t, l.out.String(), "fine\n")
			}
			if row.says == "" {
				require.NotContains(t, l.err.String(), "would hang")
			}
			require.Contains(t, l.err.String(), row.says)
		})
	}
}
