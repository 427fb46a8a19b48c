//go:build linux

package reap

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStopsThatOverlapAskOnce checks that a rank gets one TERM if a second stop begins while it
// saves, and that the second stop spares what the rank has started to save.
func TestStopsThatOverlapAskOnce(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	program := filepath.Join(t.TempDir(), "program") // a shell with another name
	require.NoError(t, os.Symlink("/bin/bash", program))
	_, out := sh(t, r, "s1", "exec "+program+` -c 'exec 3<&0; trap "echo asked; asked=1" TERM; asked=; echo ready
while [ -z "$asked" ]; do read -t 0.1 x <&3; done
sh -c "echo helps; sleep 1 && echo saved" & for i in 1 2 3 4 5; do read -t 0.1 x <&3; done'`, true)
	tree := NewTree(markEnv, "s1")
	reports := make(chan Report, 2)
	drain := func() {
		report, err := r.Drain(t.Context(), tree.Find, syscall.SIGTERM, time.Minute)
		if err != nil {
			t.Error(err)
		}
		reports <- report
	}
	go drain()
	require.Equal(t, "asked\n", readLine(t, out))
	require.Equal(t, "helps\n", readLine(t, out))
	go drain()
	require.Equal(t, "saved\n", readLine(t, out))
	asked, killed := 0, 0
	for range 2 {
		report := <-reports
		asked, killed = asked+report.Asked, killed+report.Killed
	}
	require.Equal(t, 1, asked)
	require.Zero(t, killed)
	empty(t, 1)
	again := newStop(r, tree.Find, 0)
	require.Empty(t, again.r.asked.all, "a process that has ended is remembered")
}
