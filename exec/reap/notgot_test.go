//go:build linux

package reap_test

import (
	"bufio"
	"bytes"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
)

// TestHasNotGot checks that a live process that TERM would have killed has not received it. For
// other processes HasNotGot knows nothing and returns false.
func TestHasNotGot(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   bool
	}{
		"no handler":   {"echo on; exec sleep 1000", true},
		"a handler":    {"trap 'echo term' TERM; echo on; while :; do sleep 1000 & wait; done", false},
		"TERM ignored": {"trap '' TERM; echo on; exec sleep 1000", false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", c.script)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Wait() })
			t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			_, err = bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			var buf bytes.Buffer
			p, err := reap.Stat(cmd.Process.Pid, &buf)
			require.NoError(t, err)
			if c.want { // the shell blocks signals for a moment when it starts a program
				require.Eventually(t, func() bool { return reap.HasNotGot(p, syscall.SIGTERM) }, 10*time.Second, time.Millisecond)
			}
			require.Equal(t, c.want, reap.HasNotGot(p, syscall.SIGTERM))
			require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
			require.Eventually(t, func() bool { return !reap.HasNotGot(p, syscall.SIGTERM) }, 10*time.Second, time.Millisecond)
		})
	}
}
