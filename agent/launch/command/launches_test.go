//go:build linux

package command

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestLimitFiles checks that an MPI launcher may open enough files for its workers, and not many
// more. The limits of other commands do not change, and a low limit is not raised.
func TestLimitFiles(t *testing.T) {
	for _, c := range []struct {
		name     string
		argv0    string
		slots    int
		has      uint64
		workers  int
		want     uint64
		wantHard uint64
	}{
		{"mpirun", "/usr/bin/mpirun.openmpi", 0, 9000, 60, 1024, 9000},
		{"many workers", "mpiexec", 0, 9000, 400, 3456, 9000},
		{"low limit", "mpirun", 0, 1000, 60, 1000, 1000},
		{"ranks in the launcher", "mpirun", 2, 9000, 60, 9000, 9000},
		{"another command", "sh", 0, 9000, 60, 9000, 9000},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("sleep", "60")
			require.NoError(t, cmd.Start())
			defer func() {
				require.NoError(t, cmd.Process.Kill())
				_ = cmd.Wait() // the error is the signal
			}()
			require.NoError(t, unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: c.has, Max: c.has}, nil))
			if launchesOnly([]string{c.argv0}, c.slots) {
				limitFiles(cmd.Process.Pid, c.workers)
			}
			var got unix.Rlimit
			require.NoError(t, unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &got))
			require.Equal(t, unix.Rlimit{Cur: c.want, Max: c.wantHard}, got)
		})
	}
}
