//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// TestLaunchJobRanksByTopology labels the nodes with racks. The controller copies the labels to the pods, and the ranks
// of a rack are neighbors.
func TestLaunchJobRanksByTopology(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	key := "rack.example.com/" + s.name
	for _, node := range []string{"node1", "node2"} {
		s.kubectl("label", "node", node, key+"=of-"+node)
		t.Cleanup(func() { _, _ = kubectlCall{namespace: "default"}.run("label", "node", node, key+"-") }) // the context of the test has ended
	}
	const workers = 5
	s.launch(launchJob(t, "racks", []string{"sh", "-c", `echo "rank $RANK on $(uname -n)"; exec sleep 600`}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Workers, j.Spec.TopologyKeys = "plain", ptr.To(int32(workers)), []v1alpha1.TopologyKey{v1alpha1.TopologyKey(key)}
		j.Spec.Roles[0].Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{names.LabelJob: "racks", names.LabelRole: names.RoleWorker}}}}
	}))
	s.becomes("racks", 2*time.Minute, "running", inPhase(v1alpha1.PhaseRunning))
	require.Eventually(t, func() bool { return strings.Count(s.logs("racks-launcher"), " on racks-worker-") == workers }, time.Minute, time.Second)
	var racks []string // in the order of their first workers
	of := map[string][]string{}
	for i := range workers {
		pod := s.pod(fmt.Sprintf("racks-worker-%d", i))
		rack := "of-" + pod.Spec.NodeName
		require.Equal(t, key+"="+rack, pod.Annotations[names.AnnotationTopology])
		if len(of[rack]) == 0 {
			racks = append(racks, rack)
		}
		of[rack] = append(of[rack], pod.Name)
	}
	require.Len(t, racks, 2, "the scheduler spreads the pods")
	log, rank := s.logs("racks-launcher"), 0
	shown := s.exec(20*time.Second, "racks-launcher", names.AgentPath, "hosts", "-o", "wide").stdout
	for _, rack := range racks {
		for _, pod := range of[rack] {
			require.Contains(t, log, fmt.Sprintf("rank %d on %s\n", rank, pod))
			require.Regexp(t, fmt.Sprintf(`(?m)^.*\b%s\b.*\b%s\b.*$`, pod, rack), strings.ReplaceAll(shown, "\t", " "))
			rank++
		}
	}
}
