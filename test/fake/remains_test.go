//go:build mpi

package fake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/test/suite/proc"
)

// process is one that carries a mark.
type process struct{ proc.Process }

// onWorker tells whether it is a fake worker or runs in one.
func (p process) onWorker() bool { return p.Getenv(names.EnvFake) != "" }

// remains looks for the living processes with the mark.
func remains(mark string) (found []process) {
	for _, p := range proc.Marked("FAKE_TEST=" + mark) {
		found = append(found, process{p})
	}
	return found
}

// TestRemainsSees keeps the other tests honest: a scan that sees nothing would
// pass them all.
func TestRemainsSees(t *testing.T) {
	t.Parallel()
	j := start(t, agentRun(t, []string{"--fake=2"}, "sh", "-c", "echo ready; exec sleep inf"))
	j.out.await(t, "ready\n")
	workers := 0
	var all []string
	for _, p := range remains(j.mark) {
		all = append(all, p.Line())
		if p.onWorker() {
			workers++
		}
	}
	require.Equal(t, 2, workers, "%q", all)
	require.Contains(t, all, "sleep inf")
	require.GreaterOrEqual(t, len(all), 4, "%q", all)
	j.signal(15)
	j.wait().wants(t, 143)
}

// gone waits until no process with the mark is chosen any more.
func gone(t *testing.T, mark string, within time.Duration, chosen func(process) bool) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		var left []process
		for _, p := range remains(mark) {
			if chosen(p) {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return time.Since(began)
		}
		require.Less(t, time.Since(began), within, "still there: %v", left)
		time.Sleep(50 * time.Millisecond) // nothing tells when another process ends
	}
}
