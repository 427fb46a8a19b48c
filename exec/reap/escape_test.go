//go:build linux

package reap

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStopFindsReplacedProcesses checks that Stop finds a process that is repeatedly replaced by
// its child, even while it loads a program and its environment reads as empty.
func TestStopFindsReplacedProcesses(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	escaped := 0
	const tries = 300
	for range tries {
		tree := NewTree(markEnv, "s1")
		p, _ := sh(t, r, "s1", `(setsid setsid setsid nohup sleep 4711 >/dev/null 2>&1 &)`, false)
		tree.Add(p)
		p.Status()
		_, err := r.Stop(t.Context(), tree.Find, 0)
		require.NoError(t, err)
		procs, err := Scan(markEnv)
		require.NoError(t, err)
		for _, p := range Below(procs, os.Getpid()) {
			if p.Alive() && !p.Exiting {
				escaped++
				_ = Signal(p, syscall.SIGKILL) // it may have ended already
			}
		}
	}
	require.Zero(t, escaped, "processes that survived %d stops", tries)
}
