package rendezvous

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEnvOfAPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-0", Labels: map[string]string{"training.kubeflow.org/replica-type": "Master"}}}
	pod.Spec.Containers = []corev1.Container{
		{Name: "sidecar", Env: []corev1.EnvVar{{Name: "RANK", Value: "9"}}},
		{Name: "main", Env: []corev1.EnvVar{{Name: "RANK", Value: "1"}, {Name: "EMPTY"}, {Name: "URL", Value: "http://$(HOST)/"},
			{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}}},
	}
	w := FromPod(pod, "main")
	require.Equal(t, []string{"RANK=1", "EMPTY="}, w.Env)
	require.Equal(t, "Master", w.Role)
	require.Empty(t, FromPod(pod, "").Env, "the container is unknown")
}
