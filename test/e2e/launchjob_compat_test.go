//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/names"
)

// TestLaunchJobCompat: scripts written around Kubeflow's operator find its variables,
// and under the names in them every pod of the job.
func TestLaunchJobCompat(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	as := func(framework string) func(*v1alpha1.LaunchJob) {
		return func(job *v1alpha1.LaunchJob) {
			for i := range job.Spec.Roles {
				job.Spec.Roles[i].Template.Labels = map[string]string{"team": "ml"}
				job.Spec.Roles[i].Template.Annotations = map[string]string{"sidecar.example.com/inject": "false"}
			}

			job.Spec.Framework, job.Spec.Compat, job.Spec.Success = framework, "kubeflow-v1", "all"
		}
	}
	s.launch(
		members(t, "pt", `set -e; echo "rank $RANK of $WORLD_SIZE"; getent hosts $MASTER_ADDR`, as("torch")),
		members(t, "tf", `set -e; echo "$TF_CONFIG"; for h in master-0 worker-0 worker-1; do getent hosts tf-$h.$MUSTER_NAMESPACE.svc; done`, as("tensorflow")),
	)
	s.becomes("pt", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	for rank, name := range []string{"pt-master-0", "pt-worker-0", "pt-worker-1"} {
		pod := s.pod(name)
		log := s.logs(name)
		require.Contains(t, log, fmt.Sprintf("rank %d of 3\n", rank))
		require.Contains(t, log, s.pod("pt-master-0").Status.PodIP+" ")
		require.Equal(t, "ml", pod.Labels["team"])
		require.Equal(t, "false", pod.Annotations["sidecar.example.com/inject"])
		require.Equal(t, fmt.Sprint(max(rank-1, 0)), pod.Labels[names.LabelReplicaIndex])
	}
	s.becomes("tf", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	for _, name := range s.podsOf("tf") {
		log := s.logs(name)
		require.Contains(t, log, fmt.Sprintf(`"worker":["tf-worker-0.%s.svc:2222","tf-worker-1.%s.svc:2222"]`, s.name, s.name))
		for _, other := range s.podsOf("tf") {
			require.Contains(t, log, s.pod(other).Status.PodIP)
		}
	}
}
