//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// TestLaunchJobReplacesWorkers checks that the controller makes other pods for the workers that a rule of the
// restart policy replaces: the one where the failure began, or all. That uses up one restart of one, and the
// replaced pods do not count.
func TestLaunchJobReplacesWorkers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	command := []string{"sh", "-c", `echo "attempt $MUSTER_ATTEMPT"; [ $MUSTER_ATTEMPT = 0 ] || exit 0; [ $RANK = 0 ] || { sleep 3; echo "NCCL error" >&2; exit 3; }; exec sleep 600`}
	with := func(action string) func(*v1alpha1.LaunchJob) {
		return func(j *v1alpha1.LaunchJob) {
			j.Spec.Framework = "plain"
			j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 1, Rules: []v1alpha1.RestartRule{{Causes: []string{"oom"}, Action: "Fail"}, {Output: "^NCCL error", Action: action}}}
		}
	}
	for name, other := range map[string][]bool{"one": {false, true}, "all": {true, true}} {
		s.launch(launchJob(t, name, command, with(map[string]string{"one": "ReplaceWorker", "all": "RestartPods"}[name])))
		l := s.follow(name + "-launcher")
		l.until(2*time.Minute, "attempt 0")
		var before []string
		for _, pod := range []string{name + "-worker-0", name + "-worker-1"} {
			before = append(before, string(s.pod(pod).UID))
		}
		struck := time.Now()
		l.until(90*time.Second, "attempt 1")
		t.Logf("%s: %.1f s to the next attempt's first line", name, time.Since(struck).Seconds())
		status := s.becomes(name, time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
		require.Zero(t, status.Replacements, "the launcher counts restarts")
		for i, pod := range []string{name + "-worker-0", name + "-worker-1"} {
			require.Equal(t, other[i], before[i] != string(s.pod(pod).UID), pod)
		}
		require.Contains(t, s.logs(name+"-launcher"), "attempt 2 of 2: ")
	}
}

// TestLaunchJobWithoutProgress checks that attempts that write no file end a job.
func TestLaunchJobWithoutProgress(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "still", []string{"sh", "-c", "exit 3"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 9, RestartOn: "any", ProgressFile: "/tmp/ckpt/*", MaxNoProgress: 2}
	}))
	status := s.becomes("still", 2*time.Minute, "over", inPhase(v1alpha1.PhaseFailed))
	require.True(t, strings.HasPrefix(status.Message, "no restart: 2 attempts in a row ended without a file of --progress-file=/tmp/ckpt/*"), status.Message)
	require.EqualValues(t, names.ExitNoProgress, status.FirstFailure.ExitCode)
}
