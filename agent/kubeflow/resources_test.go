package kubeflow

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestLauncherNeeds checks that an added launcher requests a tenth of a CPU, whatever its workers
// request.
func TestLauncherNeeds(t *testing.T) {
	for name, tc := range map[string]struct{ worker, pod, want string }{
		"requests only":       {"requests: {cpu: 32, memory: 256Gi, ephemeral-storage: 1Ti}", "", "requests: {cpu: 100m, memory: 128Mi}"},
		"requests and limits": {"{requests: {cpu: 8}, limits: {cpu: 32, memory: 256Gi, nvidia.com/gpu: 8, hugepages-2Mi: 1Gi}}", "", "{requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 1, memory: 1Gi}}"},
		"claims":              {"{claims: [{name: gpu}]}", "", "requests: {cpu: 100m, memory: 128Mi}"},
		"nothing":             {"{}", "", "requests: {cpu: 100m, memory: 128Mi}"},
		"very small limits":   {"limits: {cpu: 50m, memory: 64Mi}", "", "{requests: {cpu: 50m, memory: 64Mi}, limits: {cpu: 50m, memory: 64Mi}}"},
		"limits of the pod":   {"requests: {cpu: 8}", "limits: {cpu: 32, memory: 512Mi}", "{requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 1, memory: 512Mi}}"},
		"limits of both":      {"limits: {cpu: 500m}", "limits: {cpu: 32}", "{requests: {cpu: 100m, memory: 128Mi}, limits: {cpu: 500m}}"},
	} {
		var worker, pod, want corev1.ResourceRequirements
		require.NoError(t, yaml.UnmarshalStrict([]byte(tc.pod), &pod), name)
		require.NoError(t, yaml.UnmarshalStrict([]byte(tc.worker), &worker), name)
		require.NoError(t, yaml.UnmarshalStrict([]byte(tc.want), &want), name)
		got := launcherNeeds(worker, &pod)
		require.Equal(t, text(want.Requests), text(got.Requests), name)
		require.Equal(t, text(want.Limits), text(got.Limits), name)
		require.Empty(t, got.Claims, name)
	}
}

func text(list corev1.ResourceList) map[corev1.ResourceName]string {
	all := map[corev1.ResourceName]string{}
	for name, q := range list {
		all[name] = q.String()
	}
	return all
}
