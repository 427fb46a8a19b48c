//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

const (
	streamMiB   = 256
	streamPairs = 9
)

// TestThroughput: how fast one session's stdout comes through, from a file in
// the worker to a pipe in the launcher's pod, against the cluster's own
// kubectl in the same pod with the same rights.
func TestThroughput(t *testing.T) {
	s := newSpace(t)
	j := job{name: "stream", image: "openmpi", workers: 1, slots: 1, command: []string{"sleep", "inf"}}
	s.start(j)
	s.follow("stream-launcher").until(2*time.Minute, "1/1 ready")
	s.putKubectl("stream-launcher")
	size := fmt.Sprint(streamMiB << 20)
	made := s.exec(time.Minute, "stream-worker-0", "sh", "-c", "head -c "+size+" /dev/urandom > /tmp/file && wc -c < /tmp/file")
	require.Equal(t, size+"\n", made.stdout)

	pair := s.exec(5*time.Minute, "stream-launcher", "sh", "-c", `
timed() {
    name=$1; shift; start=$(date +%s%N)
    bytes=$("$@" | wc -c)
    echo "$name $bytes $(( $(date +%s%N) - start ))"
}
i=0
while [ $i -le `+fmt.Sprint(streamPairs)+` ]; do
    timed agent agent rsh stream-worker-0 cat /tmp/file
    timed kubectl /tmp/kubectl exec stream-worker-0 -- cat /tmp/file
    i=$((i+1))
done`)
	require.Zero(t, pair.code, "%+v", pair)
	rates := map[string][]float64{}
	for line := range strings.Lines(pair.stdout) {
		var name string
		var bytes int
		var took time.Duration
		_, err := fmt.Sscan(line, &name, &bytes, &took)
		require.NoError(t, err, line)
		if lost := streamMiB<<20 - bytes; name == "kubectl" && lost > 0 { // it does, on a busy machine
			t.Logf("kubectl exec lost %d bytes and said nothing; its rate is that of what arrived", lost)
		} else {
			require.Zero(t, lost, "%s lost or made up output", name)
		}
		rates[name] = append(rates[name], float64(bytes>>20)/took.Seconds())
	}
	agent, kubectl := rates["agent"][1:], rates["kubectl"][1:] // the first of each warms up
	t.Logf("MiB/s: agent %.0f, kubectl %.0f", agent, kubectl)
	record(t, figure.Row{Name: "session stdout over kubectl exec", Op: ">=", Bar: 0.8}, map[string]figure.Series{
		"session stdout over kubectl exec": {Unit: "ratio", Reduce: "median", Samples: pairRatios(agent, kubectl)},
		"agent":                            {Unit: "MiB/s", Reduce: "median", Samples: agent},
		"kubectl":                          {Unit: "MiB/s", Reduce: "median", Samples: kubectl},
	})
}

// putKubectl copies the cluster's kubectl to /tmp/kubectl of a pod; it works
// there with the pod's service account.
func (s *space) putKubectl(pod string) {
	s.t.Helper()
	program, err := os.ReadFile(kubectlPath())
	require.NoError(s.t, err)
	_, err = kubectlCall{namespace: s.name, stdin: program, limit: 2 * time.Minute}.run(
		"exec", "-i", pod, "--", "sh", "-c", "cat > /tmp/kubectl && chmod 755 /tmp/kubectl")
	require.NoError(s.t, err)
}
