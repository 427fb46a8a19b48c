package kubeflow

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// setLimit gives a container so many of a resource.
func setLimit(o *corev1.Container, name string, n int32) {
	if o.Resources.Limits == nil {
		o.Resources.Limits = corev1.ResourceList{}
	}
	o.Resources.Limits[corev1.ResourceName(name)] = *resource.NewQuantity(int64(n), resource.DecimalSI)
}
