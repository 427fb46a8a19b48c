package kubeflow

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// setLimit sets a container's limit of a resource.
func setLimit(o *corev1.Container, name string, n int32) {
	if o.Resources.Limits == nil {
		o.Resources.Limits = corev1.ResourceList{}
	}
	o.Resources.Limits[corev1.ResourceName(name)] = *resource.NewQuantity(int64(n), resource.DecimalSI)
}

// launcherNeeds returns the resources of a launcher that only supervises its workers, in place of a
// worker's own. It has a limit only if the worker has one, because a quota may require limits of
// every pod. The limit is never above the worker's. pod is what the worker's whole pod may use; nil:
// only its containers have limits.
func launcherNeeds(worker corev1.ResourceRequirements, pod *corev1.ResourceRequirements) corev1.ResourceRequirements {
	needs := corev1.ResourceRequirements{Requests: corev1.ResourceList{}}
	for _, r := range []struct {
		name         corev1.ResourceName
		asked, limit string
	}{{corev1.ResourceCPU, "100m", "1"}, {corev1.ResourceMemory, "128Mi", "1Gi"}} {
		asked := resource.MustParse(r.asked)
		theirs, ok := worker.Limits[r.name]
		if !ok && pod != nil {
			theirs, ok = pod.Limits[r.name]
		}
		if ok {
			if needs.Limits == nil {
				needs.Limits = corev1.ResourceList{}
			}
			needs.Limits[r.name] = least(resource.MustParse(r.limit), theirs)
			asked = least(asked, theirs)
		}
		needs.Requests[r.name] = asked
	}
	return needs
}

// least returns the smaller of two quantities.
func least(a, b resource.Quantity) resource.Quantity {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}
