//go:build e2e

package e2e

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A launcher's token is one that its API server takes as long as a Secret is
// there (a bound token): with the Secret it ends at once, where a lifetime is
// ten minutes at least. The kubelet lays the new one into the pod, as it does
// when it rotates a projected token.

const tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// tokenSecret holds what a launcher's pod finds in tokenDir.
func tokenSecret(j job) string { return j.name + "-token" }

// issueTokens makes new tokens for all launchers, which die with the Secret named bound.
func issueTokens(s *space, f *faults, bound string) {
	s.t.Helper()
	s.apply(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": bound}})
	ca := s.kubectl("get", "configmap", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`)
	var secrets []any
	for _, j := range f.jobs {
		token := s.kubectl("create", "token", j.name+"-launcher", "--bound-object-kind=Secret", "--bound-object-name="+bound, "--duration=10m")
		secrets = append(secrets, map[string]any{"apiVersion": "v1", "kind": "Secret",
			"metadata":   map[string]any{"name": tokenSecret(j)},
			"stringData": map[string]string{"token": strings.TrimSpace(token), "ca.crt": ca, "namespace": s.name}})
	}
	s.apply(secrets...)
}

// ownToken lays the Secret of a job over its launcher's token.
func ownToken(pod *corev1.Pod) {
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: pod.Labels["muster.dev/job"] + "-token"}}})
	first(pod).VolumeMounts = append(first(pod).VolumeMounts, corev1.VolumeMount{Name: "token", MountPath: tokenDir})
}

// tokenCache is how long the API server takes a token that it has taken before.
const tokenCache = 10 * time.Second

// rotate issues new tokens, waits until the kubelet has laid them into the
// pods, ends the old ones, and cuts every connection that was made with them.
func rotate(h *hit) {
	old := map[string]string{}
	for _, w := range h.works {
		old[w.pod] = h.kubectl("exec", w.pod, "--", "cat", tokenDir+"/token")
	}
	issueTokens(h.space, h.f, "second")
	for _, w := range h.works {
		// A kubelet looks at a pod's volumes when the pod has changed, else once a minute.
		h.kubectl("annotate", "pod", w.pod, "example.com/look=again")
	}
	for _, w := range h.works {
		for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(time.Second) {
			if h.kubectl("exec", w.pod, "--", "cat", tokenDir+"/token") != old[w.pod] {
				break
			}
			require.True(h.t, time.Now().Before(deadline), "%s still has its old token", w)
		}
	}
	h.kubectl("delete", "secret", "first")
	time.Sleep(tokenCache + 2*time.Second)
	review, err := kubectlCall{namespace: h.name, stdin: []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"` +
		old[h.works[0].pod] + `"}}`)}.run("create", "-f", "-", "-o", "jsonpath={.status.authenticated}")
	require.NoError(h.t, err)
	require.NotEqual(h.t, "true", review, "the old token is still good")
	cluster(h.t, append([]string{"apiserver", "cut"}, h.launcherIPs()...)...)
	h.back = time.Now()
	h.relinked()
}
