package rendezvous

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// envOf lists the variables of a container whose values stand in the pod's spec,
// K=V. Values from Secrets, ConfigMaps and fields are not known here, and none
// that the kubelet would put together ("$(NAME)") is.
func envOf(pod *corev1.Pod, container string) []string {
	var list []string
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		for _, v := range c.Env {
			if v.ValueFrom == nil && !strings.Contains(v.Value, "$(") {
				list = append(list, v.Name+"="+v.Value)
			}
		}
	}
	return list
}

// gpusOf counts the devices that a container may use: limits whose name is a
// vendor's for them (nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915 has none of
// the kind and does not count).
func gpusOf(pod *corev1.Pod, container string) int {
	n := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		for name, quantity := range c.Resources.Limits {
			if strings.HasSuffix(string(name), "gpu") || strings.Contains(string(name), "/gpu") {
				n += int(quantity.Value())
			}
		}
	}
	return n
}
