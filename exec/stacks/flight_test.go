//go:build linux

package stacks_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
)

// recorder simulates a rank of PyTorch with NCCL. It creates its pipe like DumpPipe of
// ProcessGroupNCCL, checks it regularly, and writes its dump.
const recorder = `
import os, time
pipe = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + os.environ["RANK"] + ".pipe"
dump = os.environ["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] + os.environ["RANK"]
os.mkfifo(pipe, 0o666)
fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
print("on", flush=True)
while True:
    time.sleep(.1)
    if os.read(fd, 128):
        with open(dump, "wb") as f:
            f.write(b"x" * 1000)
            f.flush()
            time.sleep(.05)
            f.write(b"x" * 2000)
`

func flights(t *testing.T, limit time.Duration, procs ...reap.Proc) []stacks.Flight {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	return stacks.Flights(ctx, procs)
}

// rankOf starts a Python rank in a directory with the given environment.
func rankOf(t *testing.T, dir, script string, env ...string) reap.Proc {
	cmd := exec.Command("python3", "-c", script)
	cmd.Dir, cmd.Env = dir, append(env, "PATH="+os.Getenv("PATH"), "RANK=3")
	return begin(t, cmd)
}

// TestFlightRecorder checks that a rank with a flight recorder writes the dump to the configured
// path, each time again.
func TestFlightRecorder(t *testing.T) {
	for name, prefix := range map[string]string{"whole path": t.TempDir() + "/", "relative path": ""} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			where := prefix
			if where == "" {
				where = dir + "/"
			}
			p := rankOf(t, dir, recorder, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE="+prefix+"fr", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE="+prefix+"trace_")
			plain := rankOf(t, dir, "import time; print('on', flush=True); time.sleep(1000)")
			for range 2 {
				got := flights(t, 20*time.Second, p, plain)
				require.Equal(t, []stacks.Flight{{Path: where + "trace_3", Bytes: 3000}, {}}, got)
			}
			require.True(t, look(t, p.PID).Alive())
		})
	}
}

// TestNoFlightRecorder checks that a rank's settings for its pipe are not trusted, and that no call
// waits for the pipe.
func TestNoFlightRecorder(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		limit  time.Duration
		why    string
	}{
		"no pipe":           {"", 20 * time.Second, "its pipe: no such file or directory"},
		"no reader":         {"os.mkfifo('fr3.pipe')", 20 * time.Second, "nothing reads its pipe"},
		"a regular file":    {"open('fr3.pipe', 'w').close()", 20 * time.Second, "its path is not a pipe"},
		"a symlink":         {"os.mkfifo('p'); f = os.open('p', os.O_RDWR); os.symlink('p', 'fr3.pipe')", 20 * time.Second, "its path is not a pipe"},
		"never dumps":       {"os.mkfifo('fr3.pipe'); f = os.open('fr3.pipe', os.O_RDWR)", 300 * time.Millisecond, "no dump came in time"},
		"an old dump":       {"open('trace_3', 'w').write('x'); os.mkfifo('fr3.pipe'); f = os.open('fr3.pipe', os.O_RDWR)", 300 * time.Millisecond, "no dump came in time"},
		"a symlink as dump": {"os.symlink('/etc/passwd', 'trace_3'); os.mkfifo('fr3.pipe'); f = os.open('fr3.pipe', os.O_RDWR)", 300 * time.Millisecond, "no dump came in time"},
		"a full pipe":       {"os.mkfifo('fr3.pipe'); f = os.open('fr3.pipe', os.O_RDWR | os.O_NONBLOCK); os.write(f, b'x' * 65536)", 300 * time.Millisecond, "no dump came in time"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := rankOf(t, dir, "import os, time\n"+c.script+"\nprint('on', flush=True); time.sleep(1000)", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=fr", "TORCH_FR_DUMP_TEMP_FILE=trace_")
			got := flights(t, c.limit, p)[0]
			require.Equal(t, filepath.Join(dir, "trace_3"), got.Path)
			require.Contains(t, got.Why, c.why)
			require.Zero(t, got.Bytes)
		})
	}
}
