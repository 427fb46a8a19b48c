package rendezvous_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/rendezvous"
)

// rule returns a restart rule of a container for exit codes.
func rule(operator corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) corev1.ContainerRestartRule {
	return corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: operator, Values: codes}}
}

func TestRestarts(t *testing.T) {
	own := func(p corev1.ContainerRestartPolicy, rules ...corev1.ContainerRestartRule) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].RestartPolicy, pod.Spec.Containers[0].RestartPolicyRules = &p, rules
		}
	}
	policy := func(p corev1.RestartPolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
	}
	both := func(list ...func(*corev1.Pod)) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			for _, one := range list {
				one(pod)
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		codes  map[int32]bool
	}{
		"the pod never":      {policy(corev1.RestartPolicyNever), map[int32]bool{0: false, 1: false}},
		"the pod on failure": {policy(corev1.RestartPolicyOnFailure), map[int32]bool{0: false, 1: true}},
		"the pod always":     {policy(corev1.RestartPolicyAlways), map[int32]bool{0: true, 1: true}},
		"a code of a rule":   {own(corev1.ContainerRestartPolicyNever, rule(corev1.ContainerRestartRuleOnExitCodesOpIn, 42)), map[int32]bool{42: true, 1: false, 0: false}},
		"a code of no rule":  {own(corev1.ContainerRestartPolicyNever, rule(corev1.ContainerRestartRuleOnExitCodesOpNotIn, 0, 94)), map[int32]bool{1: true, 94: false, 0: false}},
		"the policy behind the rules": {own(corev1.ContainerRestartPolicyOnFailure, rule(corev1.ContainerRestartRuleOnExitCodesOpIn, 42)),
			map[int32]bool{1: true, 0: false}},
		"a rule without codes": {own(corev1.ContainerRestartPolicyNever, corev1.ContainerRestartRule{}), map[int32]bool{1: false}},
		"the container always": {own(corev1.ContainerRestartPolicyAlways), map[int32]bool{0: true}},
		"a pod that has failed": {both(policy(corev1.RestartPolicyAlways), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
			map[int32]bool{1: false}},
		"a pod that is deleted": {both(policy(corev1.RestartPolicyAlways), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }),
			map[int32]bool{1: false}},
	} {
		pod := shape(t, "running-ready")
		tc.change(pod)
		for code, want := range tc.codes {
			require.Equal(t, want, rendezvous.Restarts(pod, "worker", code), "%s: %d", name, code)
		}
	}
}

// TestExplainARestartByARule checks that a container that its own rules restart, in a pod that never
// restarts, does not end the wait at its first exit.
func TestExplainARestartByARule(t *testing.T) {
	pod := shape(t, "exit-never")
	require.True(t, rendezvous.Explain(pod, "worker", noon).Permanent)
	pod.Status.Phase = corev1.PodRunning
	require.True(t, rendezvous.Explain(pod, "worker", noon).Permanent)
	never := corev1.ContainerRestartPolicyNever
	pod.Spec.Containers[0].RestartPolicy = &never
	pod.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{rule(corev1.ContainerRestartRuleOnExitCodesOpIn, 7)}
	r := rendezvous.Explain(pod, "worker", noon)
	require.False(t, r.Permanent, r.Sentence)
	require.Equal(t, time.Duration(0), r.Grace)
	require.Contains(t, r.Sentence, "ended with exit code 7")
}

// TestRestartOfAllContainers checks a worker that its kubelet restarts because another container of the pod has
// ended. The statuses are those of kubelets of 1.37: at first the container is gone, then it is another one.
func TestRestartOfAllContainers(t *testing.T) {
	started := []rendezvous.Worker{rendezvous.FromPod(shape(t, "running-ready"), "worker")}
	pod := shape(t, "running-ready")
	s := &pod.Status.ContainerStatuses[0]
	s.RestartCount, s.ContainerID = 1, ""
	const message = "The container is removed because RestartAllContainers in place"
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "RestartingAllContainers", Message: message}}
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "RestartingAllContainers", Message: message, ExitCode: 137}
	losses := rendezvous.Lost(started, rendezvous.Snapshot{Pods: []*corev1.Pod{pod}}, noon)
	require.Len(t, losses, 1)
	require.True(t, losses[0].Gone)
	require.False(t, losses[0].Reason.Permanent)
	require.Equal(t, "w-3: the kubelet restarts all containers of the pod, by a rule of its template (RestartAllContainers)", losses[0].Reason.Sentence)

	s.State, s.ContainerID = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, "containerd://c1"
	losses = rendezvous.Lost(started, rendezvous.Snapshot{Pods: []*corev1.Pod{pod}}, noon)
	require.True(t, losses[0].Gone)
	require.Contains(t, losses[0].Reason.Sentence, "container worker was restarted while the job ran; it had ended with exit code 137")
	require.Contains(t, losses[0].Reason.Sentence, message)
}
