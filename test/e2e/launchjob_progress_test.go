//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestLaunchJobProgress checks that a job's status has the step and the estimate from a line that a rank prints.
func TestLaunchJobProgress(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	command := []string{"sh", "-c", `for i in $(seq 40); do echo "step $i/40"; sleep 1; done`}
	s.launch(launchJob(t, "steps", command, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework = "plain"
		j.Spec.Progress = []v1alpha1.ProgressRule{{Expect: `step (\d+)/(?P<total>\d+)`, Within: ptr.To(v1alpha1.Time("1m"))}}
	}))
	status := s.becomes("steps", 2*time.Minute, "with progress", func(s v1alpha1.LaunchJobStatus) bool { return s.Progress != "" })
	require.Regexp(t, `^step [1-3]?\d/40, ETA [1-3]?\ds$`, status.Progress)
	require.Contains(t, s.kubectl("get", "launchjob", "steps"), status.Progress)
	status = s.becomes("steps", 2*time.Minute, "ended", func(s v1alpha1.LaunchJobStatus) bool { return s.CompletionTime != nil })
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase)
	require.Equal(t, "step 40/40", status.Progress, "the last report comes before the launcher ends")
}

// TestLaunchJobReportsProgress checks that the program of docs/guides/progress.md reports from a worker, and that a pod
// which belongs to another job cannot.
func TestLaunchJobReportsProgress(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guides/progress.md")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(page), "```python\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "```")
	s := newSpace(t)
	reports := func(program string) func(*v1alpha1.LaunchJob) {
		return func(j *v1alpha1.LaunchJob) {
			j.Spec.Framework, j.Spec.ReportProgress = "plain", true
			j.Spec.Launcher.Template.Spec.Containers[0].Command = []string{"sh", "-c", `test "$RANK" != 1 || exec python3 -c "$0"`, program}
		}
	}
	s.launch(launchJob(t, "reporter", nil, reports(program)))
	status := s.becomes("reporter", 2*time.Minute, "ended", func(s v1alpha1.LaunchJobStatus) bool { return s.CompletionTime != nil })
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase, s.logs("reporter-launcher"))
	require.Equal(t, "step 1,200/5,000", status.Progress)
	require.Equal(t, int32(24), *status.TrainerStatus.ProgressPercentage)

	foreign := strings.Replace(program, `os.environ["KUBEFLOW_TRAINER_SERVER_URL"]`, `os.environ["KUBEFLOW_TRAINER_SERVER_URL"].replace("stranger", "reporter")`, 1)
	require.NotEqual(t, program, foreign)
	s.launch(launchJob(t, "stranger", nil, reports(foreign)))
	status = s.becomes("stranger", 2*time.Minute, "ended", func(s v1alpha1.LaunchJobStatus) bool { return s.CompletionTime != nil })
	require.Equal(t, v1alpha1.PhaseFailed, status.Phase)
	require.Contains(t, s.logs("stranger-launcher"), "HTTP Error 403: Forbidden")
}
