//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestLaunchJobExcludesANode checks that a node where worker 0 fails its preflight twice is excluded: the third pod
// goes to another node, although its template prefers the bad one. The user can empty the list.
func TestLaunchJobExcludesANode(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const bad = "node1"
	// Attempts 0 to 2 fail, so that the worker which has become the spare is checked again and again.
	command := []string{"sh", "-c", `echo "attempt $MUSTER_ATTEMPT rank $RANK of $WORLD_SIZE on $(uname -n)"; test $MUSTER_ATTEMPT -ge 3 || { sleep 15; exit 1; }; exec sleep 600`}
	s.launch(launchJob(t, "unlucky", command, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Workers, j.Spec.Spares = "plain", ptr.To(int32(2)), 1
		j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 5, RestartOn: "any"}
		j.Spec.Preflight = &v1alpha1.Preflight{Mode: "fail", Command: `test "$(uname -n) on $NODE" != "unlucky-worker-0 on ` + bad + `"`}
		spec := &j.Spec.Roles[0].Template.Spec
		spec.Containers[0].Env = append(spec.Containers[0].Env, corev1.EnvVar{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}})
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{bad}}},
			}}},
		}}
	}))
	status := s.becomes("unlucky", 4*time.Minute, "without the node", func(s v1alpha1.LaunchJobStatus) bool { return len(s.ExcludedNodes) == 1 })
	require.Equal(t, []string{bad, "preflight"}, []string{status.ExcludedNodes[0].Node, status.ExcludedNodes[0].Cause})
	require.Len(t, status.Replaced, 2)
	for _, r := range status.Replaced {
		require.Equal(t, []string{"unlucky-worker-0", bad, "preflight"}, []string{r.Pod, r.Node, r.Cause})
	}
	s.follow("unlucky-launcher").until(3*time.Minute, "attempt 3 rank 1 of 2")
	s.becomes("unlucky", time.Minute, "complete", func(s v1alpha1.LaunchJobStatus) bool { return s.Ready == "2/2" && s.Spares == "1/1" })
	require.NotEqual(t, bad, s.pod("unlucky-worker-0").Spec.NodeName)
	require.Contains(t, s.kubectl("get", "events", "--field-selector=reason=NodeExcluded"), "excluding node "+bad+" for new pods: it failed twice (preflight)")

	s.kubectl("patch", "launchjob", "unlucky", "--subresource=status", "--type=merge", "-p", `{"status":{"excludedNodes":[]}}`)
	s.kubectl("delete", "pod", "unlucky-worker-0", "--wait=true")
	s.becomes("unlucky", time.Minute, "with a pod on "+bad+" again", func(v1alpha1.LaunchJobStatus) bool {
		node, err := s.try(10*time.Second, "get", "pod", "unlucky-worker-0", "-o", "jsonpath={.spec.nodeName}")
		return err == nil && node == bad
	})
	require.Empty(t, s.lj("unlucky").Status.ExcludedNodes)
}

// TestLaunchJobExcludesNoNode checks that a program which always fails excludes no node, although a rule replaces the
// pod of its worker each time.
func TestLaunchJobExcludesNoNode(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "broken", []string{"sh", "-c", `test $RANK != 0 || exit 1; exec sleep 600`}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework = "plain"
		j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: 3, Rules: []v1alpha1.RestartRule{{ExitCodes: []int32{1}, Action: "ReplaceWorker"}}}
	}))
	status := s.becomes("broken", 4*time.Minute, "over", inPhase(v1alpha1.PhaseFailed))
	require.Len(t, status.Replaced, 3)
	for _, r := range status.Replaced {
		require.NotEmpty(t, r.Node)
		require.Empty(t, r.Cause)
	}
	require.Empty(t, status.ExcludedNodes)
}
