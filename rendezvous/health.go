package rendezvous

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Unhealthy reports whether a device plugin has found a device of the pod broken. Kubelets report
// that with the feature gate ResourceHealthStatus.
func Unhealthy(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return slices.ContainsFunc(c.AllocatedResourcesStatus, func(r corev1.ResourceStatus) bool {
			return slices.ContainsFunc(r.Resources, func(h corev1.ResourceHealth) bool { return h.Health == corev1.ResourceHealthStatusUnhealthy })
		})
	})
}
