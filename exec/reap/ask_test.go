//go:build linux

package reap

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAskLeavesOthersAlone checks that Ask signals only ranks that handle the signal, and waits
// only for them.
func TestAskLeavesOthersAlone(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	for _, c := range []struct {
		name, line string
		sig        syscall.Signal
		asked      int
		others     int
	}{
		{"a trap", `trap 'echo asked; exit 0' TERM; echo ready; read x`, syscall.SIGTERM, 1, 0},
		{"no trap", `echo ready; read x`, syscall.SIGTERM, 0, 1},
		{"TERM ignored", `trap '' TERM; echo ready; read x`, syscall.SIGTERM, 0, 1},
		{"a script that waits for a command", `echo ready; sleep 1000; true`, syscall.SIGINT, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := sh(t, r, "s1", c.line, true)
			told := -1
			report, err := r.Ask(t.Context(), finder("s1"), c.sig, time.Minute, func(ranks []Proc) { told = len(ranks) })
			require.NoError(t, err)
			require.Equal(t, c.asked, told)
			require.Equal(t, c.asked, report.Asked)
			require.LessOrEqual(t, report.Others, c.others)
			require.Equal(t, c.others > 0, report.Others > 0)
			_, err = r.Stop(t.Context(), finder("s1"), 0)
			require.NoError(t, err)
			<-p.Done()
		})
	}
}
