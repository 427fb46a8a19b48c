//go:build linux

package session

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
)

// TestDaemonAndRankMissedTogether checks a look that finds a killed daemon and a rank of its session
// ended. The end of the daemon reports the rank first, so the rank must not be reported again.
func TestDaemonAndRankMissedTogether(t *testing.T) {
	s, _ := linked(t, 1)
	o := s.observer
	for _, x := range s.sessions {
		add := func(kind kind, turn int64, script string) {
			cmd := exec.Command("/bin/sh", "-c", script)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Wait() }) // its status is checked below
			require.NoError(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
			w := &watched{session: x, kind: kind, pidfd: reap.OpenPidfd(cmd.Process.Pid)}
			w.turn.Store(turn)
			o.watched[being{cmd.Process.Pid, startOf(t, cmd.Process.Pid)}] = w
		}
		add(ofDaemon, 1, "kill -9 $$")
		add(ofRank, 2, "exit 3")
		o.miss(x, nil)
		require.Empty(t, o.watched)
		var codes []int
		for _, r := range o.reports {
			codes = append(codes, r.Code)
		}
		require.Equal(t, []int{0, 3, 128 + int(syscall.SIGKILL)}, codes, "the session has ranks, the rank, the daemon")
	}
}
