//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRanksGetTheImagesStopSignal: a worker asks its ranks with the signal that it was told
// to stop with, which the image chooses. A helper, and a rank's launcher, get none.
func TestRanksGetTheImagesStopSignal(t *testing.T) {
	t.Parallel()
	const saves = `
import os, signal, subprocess, sys, time
helper = subprocess.Popen(["sleep", "4817"])
def save(number, frame):
    time.sleep(1)
    assert helper.poll() is None
    open("saved.%%d" %% number, "w").close()
    sys.exit(0)
for one in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGRTMIN + 3): signal.signal(one, save)
open("up", "w").close()
while True: time.sleep(0.1)
`
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "RTMIN+3": 37} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "train.py")
			require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, saves), 0o644))
			j := start(t, agentRun(t, []string{"--fake=1", "--framework=plain", "--grace=30s", "--chdir", dir}, "timeout", "1000", "/usr/bin/python3", path))
			require.Eventually(t, func() bool { return exists(dir, "up") }, patience, 10*time.Millisecond)
			require.NoError(t, syscall.Kill(j.worker(t), sig))
			o := j.wait()
			require.True(t, exists(dir, fmt.Sprintf("saved.%d", sig)), tail(o.err))
			require.Less(t, o.took, 20*time.Second)
		})
	}
}
