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
func gpusOf(pod *corev1.Pod, container string) int { return limitsOf(pod, container, isGPU) }

// limitsOf adds up the container's limits of resources that count.
func limitsOf(pod *corev1.Pod, container string, counts func(name string) bool) int {
	n := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		for name, quantity := range c.Resources.Limits {
			if counts(string(name)) {
				n += int(quantity.Value())
			}
		}
	}
	return n
}

// isDevice reports whether each unit of a resource is a device file of its own. Shares and parts of
// a GPU have one device file together.
func isDevice(name string) bool {
	switch name {
	case "nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice":
		return true
	}
	return false
}

// isRDMA reports whether a resource counts RDMA devices: rdma/hca_shared_devices_a and the like of
// Mellanox's shared device plugin, and AWS's EFA.
func isRDMA(name string) bool {
	return strings.HasPrefix(name, "rdma/") || name == "vpc.amazonaws.com/efa"
}

// isGPU reports whether a resource counts devices: nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915,
// shares (nvidia.com/gpu.shared) and parts (nvidia.com/mig-1g.5gb). nvidia.com/gpumem and
// aliyun.com/gpu-mem count memory instead.
func isGPU(name string) bool {
	domain, resource, _ := strings.Cut(name, "/")
	return strings.HasSuffix(resource, "gpu") || resource == "gpu.shared" || strings.HasPrefix(resource, "mig-") ||
		domain == "gpu.intel.com" && (resource == "i915" || resource == "xe")
}
