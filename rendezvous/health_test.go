package rendezvous_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/rendezvous"
)

func TestUnhealthy(t *testing.T) {
	for name, row := range map[string]struct {
		health []corev1.ResourceHealthStatus
		want   bool
	}{
		"nothing is reported": {nil, false},
		"all work":            {[]corev1.ResourceHealthStatus{corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusHealthy}, false},
		"unknown":             {[]corev1.ResourceHealthStatus{corev1.ResourceHealthStatusUnknown}, false},
		"one is broken":       {[]corev1.ResourceHealthStatus{corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy}, true},
	} {
		var all []corev1.ResourceHealth
		for _, h := range row.health {
			all = append(all, corev1.ResourceHealth{ResourceID: "gpu-0", Health: h})
		}
		pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "sidecar"}, {Name: "main", AllocatedResourcesStatus: []corev1.ResourceStatus{{Name: "nvidia.com/gpu", Resources: all}}},
		}}}
		require.Equal(t, row.want, rendezvous.Unhealthy(pod), name)
	}
}
