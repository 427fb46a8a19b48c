//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/suite/proc"
)

// TestLauncherKilled checks that the lease stops the workers of a launcher that was killed.
func TestLauncherKilled(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		j := start(t, agentRun(t, []string{"--fake=2", "--lease=2s"}, f.mpirun, f.program("act"), "wait"))
		await(t, j.out, "ready\n")
		ofSession := func(p proc.Process) bool { return p.Fake() != "" && !strings.Contains(p.Line(), " worker --await") }
		before := 0
		for _, p := range remains(j.mark) {
			if ofSession(p) {
				before++
			}
		}
		require.GreaterOrEqual(t, before, 4, "two daemons, two ranks")
		j.signal(syscall.SIGKILL)
		took := gone(t, j.mark, ofSession)
		t.Logf("ranks ended %.1f s after kill -9 of the launcher, lease 2 s", took.Seconds())
		took = gone(t, j.mark, func(proc.Process) bool { return true })
		t.Logf("workers and mpirun ended %.1f s later", took.Seconds())
	})
}

func TestVersionsAgree(t *testing.T) {
	for _, name := range []string{"agent", "agent-launcher"} {
		out, err := exec.Command(filepath.Join(bin, name), "version").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), fmt.Sprintf("protocol %d to %d", wire.ProtoMin, wire.ProtoMax))
	}
}

//go:embed testdata/zero/standin.py
var swallowing []byte

// swallower writes stand-ins of launchers to a directory that must be first in PATH.
func swallower(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"deepspeed", "horovodrun", "ray", "accelerate", "torchrun", "mpirun", "mpiexec.hydra"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), swallowing, 0o755))
	}
	return dir
}
