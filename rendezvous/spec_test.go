package rendezvous

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestGPUsOf(t *testing.T) {
	for name, want := range map[string]int{
		"nvidia.com/gpu": 4, "amd.com/gpu": 4, "gpu.intel.com/i915": 4, "gpu.intel.com/xe": 4, "nvidia.com/gpu.shared": 4, "nvidia.com/mig-1g.5gb": 4,
		"nvidia.com/gpumem": 0, "nvidia.com/gpucores": 0, "aliyun.com/gpu-mem": 0, "gpu.intel.com/millicores": 0, "rdma/hca": 0, "cpu": 0, "memory": 0,
	} {
		limits := corev1.ResourceList{corev1.ResourceName(name): resource.MustParse("4")}
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "side", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}},
			{Name: "worker", Resources: corev1.ResourceRequirements{Limits: limits}},
		}}}
		require.Equal(t, want, gpusOf(pod, "worker"), name)
	}
}

func TestDevicesOfAPod(t *testing.T) {
	for name, want := range map[string]bool{
		"rdma/hca": true, "rdma/hca_shared_devices_a": true, "vpc.amazonaws.com/efa": true, "nvidia.com/gpu": false, "cpu": false, "vpc.amazonaws.com/pod-eni": false,
	} {
		of := func(count string) *corev1.Pod {
			return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "side", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"rdma/hca": resource.MustParse("1")}}},
				{Name: "worker", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(count)}}},
			}}}
		}
		require.Equal(t, want, limitsOf(of("2"), "worker", isRDMA) == 2, name)
		require.Zero(t, limitsOf(of("0"), "worker", isRDMA), "none of %s", name)
	}
}
