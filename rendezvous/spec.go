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
func gpusOf(pod *corev1.Pod, container string) int { return limitsOf(pod, container, IsGPU) }

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

// IsGPU reports whether a resource counts devices: nvidia.com/gpu, amd.com/gpu, gpu.intel.com/i915,
// shares (nvidia.com/gpu.shared) and parts (nvidia.com/mig-1g.5gb). nvidia.com/gpumem and
// aliyun.com/gpu-mem count memory instead.
func IsGPU(name string) bool {
	domain, resource, _ := strings.Cut(name, "/")
	return strings.HasSuffix(resource, "gpu") || resource == "gpu.shared" || strings.HasPrefix(resource, "mig-") ||
		domain == "gpu.intel.com" && (resource == "i915" || resource == "xe")
}

// memory is the memory limit that a container cannot exceed.
type memory struct {
	words string // for a message, such as ", limit 1Gi"; "": there is no limit
	where string // the field to raise
}

// memoryLimit returns the smaller one of the limits of a container and of its whole pod. The kernel
// kills processes of the container for either.
func memoryLimit(pod *corev1.Pod, container string) memory {
	ours, pods := containerLimits(pod, container), podLimits(pod)
	own, all := ours.Memory(), pods.Memory()
	switch {
	case !all.IsZero() && (own.IsZero() || all.Cmp(*own) < 0):
		return memory{", limit of the pod " + all.String(), "spec.resources.limits.memory of the pod"}
	case !own.IsZero():
		return memory{", limit " + own.String(), "resources.limits.memory of container " + container}
	}
	return memory{"", "resources.limits.memory of container " + container}
}

// containerLimits returns the limits of a container as the kubelet has admitted them, or the limits of
// the spec if it does not report them.
func containerLimits(pod *corev1.Pod, container string) corev1.ResourceList {
	if s := containerStatus(pod, container); s != nil && s.Resources != nil {
		return s.Resources.Limits
	}
	if c := (explainer{pod: pod}).spec(container); c != nil {
		return c.Resources.Limits
	}
	return nil
}

func (m memory) hint() string { return "raise " + m.where + ", or use less memory per worker" }
