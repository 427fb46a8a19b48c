//go:build linux

package stacks_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/stacks"
)

// TestReturnsAreReported checks that a rank reports whether its C call has returned, even if a loop
// has called it again since. The rank's program does not notice.
func TestReturnsAreReported(t *testing.T) {
	for name, row := range map[string]struct {
		script   string
		returned bool
	}{
		"stays in C code":        {"hashlib.pbkdf2_hmac('sha256', b'x', b'y', 2**31 - 1)", false},
		"calls C code in a loop": {"while True: hashlib.pbkdf2_hmac('sha256', b'x', b'y', 1000)", true},
		"computes in Python":     {"while True: pass", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := python(t, "import hashlib, time\ndef load_batch():\n    print('on', flush=True)\n    "+row.script+"\nload_batch()\n")
			require.Eventually(t, func() bool { // the rank prints before it starts the call
				got := take(t, 20*time.Second, p)[0]
				require.False(t, got.Returned, "Nudge was not called")
				return strings.Contains(string(got.Text), "line 4 in load_batch")
			}, 20*time.Second, time.Millisecond)
			require.True(t, stacks.Nudge(p))
			if row.returned {
				require.Eventually(t, func() bool { return stacks.Nudge(p) && take(t, 20*time.Second, p)[0].Returned }, 20*time.Second, time.Millisecond)
			} else {
				for range 5 { // each call takes as long as a stack needs to settle
					got := take(t, 20*time.Second, p)[0]
					require.False(t, got.Returned)
					require.NotEmpty(t, got.Text)
				}
			}
			require.True(t, look(t, p.PID).Alive())
		})
	}
}

// TestNudgeSparesOtherProcesses checks that a process that the signal would kill does not get it.
func TestNudgeSparesOtherProcesses(t *testing.T) {
	for name, proc := range map[string]func() reap.Proc{
		"no Python": func() reap.Proc { return begin(t, exec.Command("sh", "-c", "echo on; exec sleep 1000")) },
		"the program reset the handler": func() reap.Proc {
			return python(t, "import signal, time; signal.signal(58, signal.SIG_DFL); print('on', flush=True); time.sleep(1000)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := proc()
			require.False(t, stacks.Nudge(p))
			require.True(t, look(t, p.PID).Alive())
		})
	}
}
