//go:build mpi

package fake

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBackgroundHoldsNoJob: a process in the background that holds the output of a
// command which has ended does not keep the job, whichever way it was started.
func TestBackgroundHoldsNoJob(t *testing.T) {
	t.Parallel()
	const plain = "--framework=plain"
	agent := filepath.Join(bin, "agent")
	rows := map[string]string{
		"stdout":  "sleep 1000 2>/dev/null & exit 0",
		"stderr":  "sleep 1000 >/dev/null & exit 0",
		"both":    "sleep 1000 & exit 0",
		"nohup":   "nohup sleep 1000 & exit 0",
		"setsid":  "setsid sleep 1000 & exit 0",
		"daemon":  "setsid sleep 1000 >/dev/null 2>&1 </dev/null & exit 0",
		"failure": "sleep 1000 & exit 3",
	}
	for row, line := range rows {
		want := 0
		if row == "failure" {
			want = 3
		}
		quoted := fmt.Sprintf("'%s'", line)
		for way, c := range map[string]call{
			"plain": agentRun(t, []string{"--fake=1", plain}, "sh", "-c", line),
			"rsh":   agentRun(t, []string{"--fake=1"}, agent, "rsh", "127.0.0.2", line),
			"pdsh":  agentRun(t, []string{"--fake=1"}, "sh", "-c", "pdsh -S -R exec -w 127.0.0.2 "+agent+" rsh %h "+quoted),
		} {
			t.Run(row+"/"+way, func(t *testing.T) {
				t.Parallel()
				o := run(t, c)
				o.wants(t, want)
				require.Less(t, o.took, 30*time.Second)
			})
		}
	}
}

// TestBackgroundThatWrites: what still writes is waited for, to its last byte.
func TestBackgroundThatWrites(t *testing.T) {
	t.Parallel()
	o := run(t, agentRun(t, []string{"--fake=1", "--framework=plain"}, "sh", "-c", "(for i in 1 2 3; do sleep 5; echo line $i; done) & exit 0"))
	o.wants(t, 0)
	require.Contains(t, o.out, "line 3")
}
