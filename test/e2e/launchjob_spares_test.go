//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestLaunchJobSpares checks that a spare takes the place of a worker that fails a check, and that the pod of that
// worker becomes the spare. That is no restart.
func TestLaunchJobSpares(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	command := []string{"sh", "-c", `echo "attempt $MUSTER_ATTEMPT rank $RANK of $WORLD_SIZE on $(uname -n)"; exec sleep 600`}
	s.launch(launchJob(t, "reserve", command, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Workers, j.Spec.Spares = "plain", ptr.To(int32(4)), 1
		j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 1}
		j.Spec.Preflight = &v1alpha1.Preflight{Mode: "fail", Command: `test "$(uname -n)" != reserve-worker-3`}
	}))
	l := s.follow("reserve-launcher")
	l.until(2*time.Minute, "attempt 0 rank 3 of 4 on reserve-worker-4")
	status := s.becomes("reserve", time.Minute, "with its spare again", func(s v1alpha1.LaunchJobStatus) bool { return s.Spares == "1/1" && len(s.Replaced) == 1 })
	require.Equal(t, "4/4", status.Ready)
	require.Equal(t, "reserve-worker-3", status.Replaced[0].Pod)
	require.Zero(t, status.Replacements, "a spare is no restart")
	require.Contains(t, s.logs("reserve-launcher"), "worker reserve-worker-3 failed its preflight (1 check): reserve-worker-4 takes its place")

	asked := s.agent(cli(t), time.Minute, "timeline", "reserve", "-o", "json")
	require.Zero(t, asked.code, asked.err)
	var line struct {
		Seconds float64
		Workers []struct {
			Worker, Node string
			Phases       map[string]float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(asked.out), &line), asked.out)
	require.Len(t, line.Workers, 5)
	for _, w := range line.Workers {
		sum := 0.0
		for _, took := range w.Phases {
			sum += took
		}
		require.InDelta(t, line.Seconds, sum, line.Seconds/100, asked.out)
		require.NotEmpty(t, w.Node)
		require.Equal(t, w.Worker != "reserve-worker-3", w.Phases["running"] > 0, asked.out)
	}
	require.Positive(t, line.Workers[3].Phases["spare"], asked.out)
	require.Regexp(t, `"phase": "checking",\s+"worker": "reserve-worker-3"`, asked.out)
}
