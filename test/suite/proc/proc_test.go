//go:build linux

package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWipe(t *testing.T) {
	const mark = "PROC_TEST=TestWipe"
	cmd := exec.Command("sh", "-c", "sleep 600 & exec sleep 600")
	cmd.Env = []string{mark, "PROC_OTHER=a b"}
	require.NoError(t, cmd.Start())
	var found []Process
	// The kernel shows the environment a moment after Start returns.
	require.Eventually(t, func() bool { found = Marked(mark); return len(found) > 0 }, 10*time.Second, time.Millisecond)
	require.Contains(t, []string{"sh", "sleep"}, found[0].Comm)
	require.Equal(t, "a b", found[0].Getenv("PROC_OTHER"))
	require.Empty(t, found[0].Getenv("PROC"))
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	Wipe(mark)
	require.EqualError(t, <-ended, "signal: killed")
	require.Empty(t, Marked(mark))
}

func TestPSS(t *testing.T) {
	bytes, err := PSS(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, bytes, 1e6)
	_, err = PSS(-1)
	require.ErrorContains(t, err, "read memory")
}

func TestFirst(t *testing.T) {
	require.True(t, first([]uint64{4711, 1}))
	require.True(t, first([]uint64{4711, 17, 1}), "a container on a node with its own PID namespace")
	require.False(t, first([]uint64{1}), "ours")
	require.False(t, first([]uint64{4711, 21}))
}
