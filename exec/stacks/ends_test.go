//go:build linux

package stacks_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
)

// ignored reports whether a process ignores all the given signals.
func ignored(t *testing.T, p reap.Proc, signals ...syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	require.NoError(t, err)
	_, text, found := strings.Cut(string(status), "\nSigIgn:")
	require.True(t, found)
	var set uint64
	_, err = fmt.Sscanf(text, "%x", &set)
	require.NoError(t, err)
	for _, sig := range signals {
		if set&(1<<(sig-1)) == 0 {
			return false
		}
	}
	return true
}

// TestEndingPythonIsNotKilled checks that a signal does not kill a Python process that is ending.
// Python restores signal handlers before it ends, and libraries, such as MPI_Finalize of mpi4py,
// end after that.
func TestEndingPythonIsNotKilled(t *testing.T) {
	p := python(t, `
import ctypes
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.pause, None, None)
print('on', flush=True)
`)
	require.Eventually(t, func() bool { return ignored(t, p, stacks.Signal, stacks.ReturnSignal) }, 20*time.Second, time.Millisecond)
	require.NoError(t, syscall.Kill(p.PID, stacks.Signal))
	require.NoError(t, syscall.Kill(p.PID, stacks.ReturnSignal))
	require.True(t, look(t, p.PID).Alive())
	require.NotEmpty(t, take(t, time.Second, p)[0].Why)
	require.False(t, stacks.Nudge(p))
}

// TestReplacedProgramIsNotKilled checks a process that becomes another program after the check,
// while Take waits for the process before it.
func TestReplacedProgramIsNotKilled(t *testing.T) {
	p := python(t, `
import os, signal, time
pid = os.fork()
if pid == 0:
    time.sleep(.5)
    os.execvp('sleep', ['sleep', '1000'])
signal.pthread_sigmask(signal.SIG_BLOCK, [59])
print('on', flush=True)
time.sleep(1000)
`)
	child := childOf(t, p)
	got := take(t, 2*time.Second, p, child)
	require.Equal(t, "no answer in time", got[0].Why)
	require.NotEqual(t, "no answer in time", got[1].Why, "the new program got no signal")
	require.True(t, look(t, child.PID).Alive())
	require.Equal(t, "sleep", look(t, child.PID).Comm)
}
