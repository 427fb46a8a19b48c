//go:build linux

package stacks_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
)

// python runs a script with the module first in its path, and waits until the script has printed a
// line.
func python(t *testing.T, script string, flags ...string) reap.Proc {
	dir := t.TempDir()
	require.NoError(t, stacks.Lay(dir))
	cmd := exec.Command("python3", append(flags, "-c", script)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1"}
	return begin(t, cmd)
}

func begin(t *testing.T, cmd *exec.Cmd) reap.Proc {
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return look(t, cmd.Process.Pid)
}

func look(t *testing.T, pid int) reap.Proc {
	var buf bytes.Buffer
	p, err := reap.Stat(pid, &buf)
	require.NoError(t, err)
	return p
}

func take(t *testing.T, limit time.Duration, procs ...reap.Proc) []stacks.Stack {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	return stacks.Take(ctx, procs)
}

// TestTakeSkipsEndedRanks checks that Take does not wait for a rank that ends without an answer,
// for example because its mpirun kills it.
func TestTakeSkipsEndedRanks(t *testing.T) {
	p := python(t, "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, {59})\nprint('on', flush=True)\ntime.sleep(0.5)")
	began := time.Now()
	require.Equal(t, "it has ended", take(t, time.Minute, p)[0].Why)
	require.Less(t, time.Since(began), 30*time.Second)
}

// TestPythonReportsItsStack checks that a rank reports its line twice and keeps running, whether it
// is in Python code or in C code below.
func TestPythonReportsItsStack(t *testing.T) {
	for name, wait := range map[string]string{
		"sleeps":              "time.sleep(1000)",
		"waits for a lock":    "l = threading.Lock(); l.acquire(); l.acquire()",
		"C code has the GIL":  "\n    while True: ctypes.PyDLL(None).sleep(1000)",
		"reads from a pipe":   "os.read(os.pipe()[0], 1)",
		"computes forever":    "\n    while True: pass",
		"waits for a thread":  "t = threading.Thread(target=time.sleep, args=(1000,)); t.start(); t.join()",
		"accepts connections": "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := python(t, "import ctypes, os, socket, threading, time\ndef load_batch():\n    print('on', flush=True)\n    "+strings.TrimPrefix(wait, "\n    ")+"\nload_batch()\n")
			require.Eventually(t, func() bool {
				got := take(t, 20*time.Second, p)[0]
				require.Empty(t, got.Why)
				return strings.Contains(string(got.Text), `File "<string>", line 4 in load_batch`)
			}, 20*time.Second, time.Millisecond)
			require.Contains(t, string(take(t, 20*time.Second, p)[0].Text), `File "<string>", line 4 in load_batch`, "a second time")
			require.True(t, look(t, p.PID).Alive())
		})
	}
}

// TestMissingStackHasReason checks that, if no stack can be taken, the result says why, and no
// process is killed.
func TestMissingStackHasReason(t *testing.T) {
	forged := `
import ctypes, os, signal, sys, time
ctypes.CDLL(None).signal(59, ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p))
%s
print('on', flush=True)
time.sleep(1000)
`
	for name, c := range map[string]struct {
		proc func(t *testing.T) reap.Proc
		why  string
	}{
		"no Python": {func(t *testing.T) reap.Proc {
			return begin(t, exec.Command("sh", "-c", "echo on; exec sleep 1000"))
		}, "not Python"},
		"isolated Python": {func(t *testing.T) reap.Proc {
			return python(t, "import time; print('on', flush=True); time.sleep(1000)", "-I")
		}, "no faulthandler: Python with -I, -E or -S, with another PYTHONPATH, or before 3.8"},
		"stopped": {func(t *testing.T) reap.Proc {
			p := python(t, "import time; print('on', flush=True); time.sleep(1000)")
			require.NoError(t, syscall.Kill(p.PID, syscall.SIGSTOP))
			require.Eventually(t, func() bool { return look(t, p.PID).State == 'T' }, 20*time.Second, time.Millisecond)
			return look(t, p.PID)
		}, "state T: a stopped process does not answer"},
		"the signal is blocked": {func(t *testing.T) reap.Proc {
			return python(t, "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, {59}); print('on', flush=True); time.sleep(1000)")
		}, "no answer in time"},
		"its file was closed": {func(t *testing.T) reap.Proc {
			return python(t, "import os, time; os.closerange(3, 300); print('on', flush=True); time.sleep(1000)")
		}, "no faulthandler: "},
		"its file was replaced": {func(t *testing.T) reap.Proc {
			return python(t, "import os, time; os.dup2(os.open('/etc/passwd', os.O_RDONLY), 240); print('on', flush=True); time.sleep(1000)")
		}, "no faulthandler: "},
		"another handler and no file": {func(t *testing.T) reap.Proc {
			return python(t, fmt.Sprintf(forged, ""), "-I")
		}, "no faulthandler: "},
		"a regular file on disk": {func(t *testing.T) reap.Proc {
			return python(t, fmt.Sprintf(forged, "os.dup2(os.open('/etc/passwd', os.O_PATH), 240)"), "-I")
		}, "no faulthandler: "},
		"a fifo": {func(t *testing.T) reap.Proc {
			return python(t, fmt.Sprintf(forged, "os.dup2(os.pipe()[0], 240)"), "-I")
		}, "no faulthandler: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.proc(t)
			got := take(t, time.Second, p)[0]
			require.Contains(t, got.Why, c.why)
			require.Empty(t, got.Text)
			require.True(t, look(t, p.PID).Alive())
		})
	}
}

// TestEndedProcessGetsNoSignal checks that a process that has ended gets no signal, nor does
// another process that now has its pid.
func TestEndedProcessGetsNoSignal(t *testing.T) {
	p := python(t, "import time; print('on', flush=True); time.sleep(1000)")
	reused := p
	reused.Start++
	require.Equal(t, "it has ended", take(t, time.Second, reused)[0].Why)
	require.NotEmpty(t, take(t, 20*time.Second, p)[0].Text)
}

// TestEndlessFileIsBounded checks that only the first bytes are read of a file that a rank fills.
func TestEndlessFileIsBounded(t *testing.T) {
	p := python(t, `
import os, threading, time
def fill():
    while True: os.write(240, b'x' * 4096); time.sleep(.0001)
threading.Thread(target=fill).start()
print('on', flush=True)
time.sleep(1000)
`)
	require.Len(t, take(t, 20*time.Second, p)[0].Text, stacks.MostText)
}

// TestForkedRanksShareAFile checks that the stacks of forked children, which share a file, are not
// mixed up.
func TestForkedRanksShareAFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, stacks.Lay(dir))
	p := python(t, `
import os, time
def one(): time.sleep(1000)
def two(): time.sleep(1000)
pid = os.fork()
if pid == 0: two()
print('on', flush=True)
one()
`)
	child := childOf(t, p)
	require.Eventually(t, func() bool {
		got := take(t, 20*time.Second, p, child)
		require.NotContains(t, string(got[0].Text), "in two")
		require.NotContains(t, string(got[1].Text), "in one")
		return strings.Contains(string(got[0].Text), "in one") && strings.Contains(string(got[1].Text), "in two")
	}, 20*time.Second, time.Millisecond)
}

// childOf returns the only child of a process. The end of the test kills it.
func childOf(t *testing.T, p reap.Proc) reap.Proc {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.PID, p.PID))
	require.NoError(t, err)
	var pid int
	_, err = fmt.Sscan(string(children), &pid)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return look(t, pid)
}
