package rendezvous

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// envOf lists the variables of a container whose values are in the pod's spec, as K=V. It leaves
// out values from Secrets, ConfigMaps and fields, and those that the kubelet would expand
// ("$(NAME)").
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

// gpusOf returns the number of devices in the limits of a container.
func gpusOf(pod *corev1.Pod, container string) int {
	n := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		for name, quantity := range c.Resources.Limits {
			if isGPU(string(name)) {
				n += int(quantity.Value())
			}
		}
	}
	return n
}

// isGPU reports whether a resource counts devices: nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915,
// shares (nvidia.com/gpu.shared) and parts (nvidia.com/mig-1g.5gb). nvidia.com/gpumem and
// aliyun.com/gpu-mem count memory instead.
func isGPU(name string) bool {
	domain, resource, _ := strings.Cut(name, "/")
	return strings.HasSuffix(resource, "gpu") || resource == "gpu.shared" || strings.HasPrefix(resource, "mig-") ||
		domain == "gpu.intel.com" && (resource == "i915" || resource == "xe")
}
