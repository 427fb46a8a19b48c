package rendezvous

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Restarts reports whether the kubelet restarts a container in the same pod after this exit code. The
// container's own rules and policy (Kubernetes 1.35) come before the pod's policy, as in the kubelet's
// ContainerShouldRestart.
func Restarts(pod *corev1.Pod, container string, code int32) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	if c := (explainer{pod: pod}).spec(container); c != nil && c.RestartPolicy != nil {
		if slices.ContainsFunc(c.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return matches(r, code) }) {
			return true // both actions start the container
		}
		return *c.RestartPolicy == corev1.ContainerRestartPolicyAlways || *c.RestartPolicy == corev1.ContainerRestartPolicyOnFailure && code != 0
	}
	return pod.Spec.RestartPolicy != corev1.RestartPolicyNever && (pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure || code != 0)
}

func matches(r corev1.ContainerRestartRule, code int32) bool {
	if r.ExitCodes == nil {
		return false
	}
	listed := slices.Contains(r.ExitCodes.Values, code)
	return listed == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}
