//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestTimelineNamesTheSlowest checks that the worker that was slow in a phase is named with its cause. One has no node
// at first, one has a slow image, and one has a slow init container.
func TestTimelineNamesTheSlowest(t *testing.T) {
	t.Parallel()
	const label = "muster.dev/test-late"
	s := newSpace(t)
	t.Cleanup(func() {
		_, err := kubectlCall{namespace: "default"}.run("label", "node", "node1", label+"-")
		require.NoError(t, err)
	})
	address := serveSlowly(t, 12*time.Second)
	image := address + "/" + slowImage + ":1"
	s.launch(launchJob(t, "slow", []string{"sleep", "600"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Workers = "plain", ptr.To(int32(3))
		j.Spec.Agent = &v1alpha1.Agent{Delivery: "init"}
		late, init, pull := j.Spec.Roles[0].DeepCopy(), j.Spec.Roles[0].DeepCopy(), j.Spec.Roles[0].DeepCopy()
		pull.Name, pull.Replicas = "pull", ptr.To(int32(1))
		pull.Template.Spec.Containers[0].Image, pull.Template.Spec.Containers[0].ImagePullPolicy = image, corev1.PullAlways
		late.Name, late.Replicas, late.Template.Spec.NodeSelector = "late", ptr.To(int32(1)), map[string]string{label: "true"}
		init.Name, init.Replicas = "init", ptr.To(int32(1))
		first := *init.Template.Spec.Containers[0].DeepCopy()
		first.Name, first.Command = "first", []string{"sleep", "12"}
		init.Template.Spec.InitContainers = []corev1.Container{first}
		j.Spec.Roles = append(j.Spec.Roles, *late, *init, *pull)
	}))
	s.becomes("slow", time.Minute, "waiting for a node", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "Unschedulable" })
	s.follow("slow-launcher").until(2*time.Minute, "Unschedulable") // a launcher that starts later cannot know it
	time.Sleep(8 * time.Second)
	s.kubectl("label", "node", "node1", label+"=true")
	s.becomes("slow", 2*time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
	type slowest struct {
		Phase, Worker, Node, Cause string
		Seconds, Median            float64
	}
	var line struct{ Slowest []slowest }
	require.Eventually(t, func() bool {
		asked := s.agent(cli(t), time.Minute, "timeline", "slow", "-o", "json")
		return asked.code == 0 && json.Unmarshal([]byte(asked.out), &line) == nil && len(line.Slowest) > 1
	}, time.Minute, time.Second)
	of := map[string]slowest{}
	for _, one := range line.Slowest {
		of[one.Phase] = one
	}
	require.Equal(t, "slow-late-0", of["queued"].Worker)
	require.Contains(t, of["queued"].Cause, "Unschedulable")
	require.GreaterOrEqual(t, of["queued"].Seconds, 7.0) // Kubernetes has whole seconds
	require.Equal(t, "slow-pull-0", of["pulling"].Worker)
	require.Contains(t, of["pulling"].Cause, image)
	require.GreaterOrEqual(t, of["pulling"].Seconds, 11.0)
	require.NotEmpty(t, of["pulling"].Node)
	require.Equal(t, "slow-init-0", of["starting"].Worker)
	require.Greater(t, of["starting"].Seconds, 11.0)
	require.NotEmpty(t, of["starting"].Node)
}
