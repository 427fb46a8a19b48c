//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The first token of a launcher ends after a short time, where an API server
// gives ten minutes at least; the kubelet lays the next one into the pod before,
// as it does when it rotates a projected token.

const tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// tokenSecret holds what a launcher's pod finds in tokenDir.
func tokenSecret(j job) string { return j.name + "-token" }

// firstToken is how long the first tokens are said to be good; for a minute
// more the API server allows for clocks that differ.
const firstToken = 45 * time.Second

// issueTokens makes new tokens for all launchers; lasting 0: the API server's own ten minutes.
func issueTokens(s *space, f *faults, lasting time.Duration) {
	s.t.Helper()
	ca := s.kubectl("get", "configmap", "kube-root-ca.crt", "-o", `jsonpath={.data.ca\.crt}`)
	var secrets []any
	for _, j := range f.jobs {
		token := s.kubectl("create", "token", j.name+"-launcher", "--duration=10m")
		if lasting > 0 {
			token = expiring(s.t, token, lasting)
		}
		secrets = append(secrets, map[string]any{"apiVersion": "v1", "kind": "Secret",
			"metadata":   map[string]any{"name": tokenSecret(j)},
			"stringData": map[string]string{"token": strings.TrimSpace(token), "ca.crt": ca, "namespace": s.name}})
	}
	s.apply(secrets...)
}

// expiring is token with an end of its own.
func expiring(t *testing.T, token string, lasting time.Duration) string {
	t.Helper()
	cmd := exec.Command(os.Getenv("MUSTER_CLUSTER"), "token", "expire", strconv.Itoa(int(lasting.Seconds())))
	cmd.Stdin = strings.NewReader(token)
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// ownToken lays the Secret of a job over its launcher's token. Open MPI's daemons stay in their
// sessions: the token outlives the minute after which links of daemons alone are given
// up, and all links are to be there when it ends.
func ownToken(pod *corev1.Pod) {
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: pod.Labels["muster.dev/job"] + "-token"}}})
	first(pod).VolumeMounts = append(first(pod).VolumeMounts, corev1.VolumeMount{Name: "token", MountPath: tokenDir})
	first(pod).Env = append(first(pod).Env, corev1.EnvVar{Name: "OMPI_MCA_orte_leave_session_attached", Value: "1"})
}

// rotate issues new tokens, waits until the kubelet has laid them into the
// pods and the old ones are over, and cuts every connection that was made with
// them.
func rotate(h *hit) {
	old := map[string]string{}
	for _, w := range h.works {
		old[w.pod] = h.kubectl("exec", w.pod, "--", "cat", tokenDir+"/token")
	}
	issueTokens(h.space, h.f, 0)
	for _, w := range h.works {
		// A kubelet looks at a pod's volumes when the pod has changed, else once a minute.
		h.kubectl("annotate", "pod", w.pod, "example.com/look=again")
	}
	for _, w := range h.works {
		h.within(90*time.Second, w.String()+" still has its old token", func() bool {
			return h.kubectl("exec", w.pod, "--", "cat", tokenDir+"/token") != old[w.pod]
		})
		h.within(firstToken+90*time.Second, w.String()+"'s old token is still good", func() bool { return !h.good(old[w.pod]) })
	}
	cluster(h.t, append([]string{"apiserver", "cut"}, h.launcherIPs()...)...)
	h.back = time.Now()
	h.relinked()
}

// good: the API server takes the token.
func (h *hit) good(token string) bool {
	review, err := kubectlCall{namespace: h.name, stdin: []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"` +
		token + `"}}`)}.run("create", "-f", "-", "-o", "jsonpath={.status.authenticated}")
	require.NoError(h.t, err)
	return review == "true"
}

// within asks once a second until ok.
func (h *hit) within(limit time.Duration, otherwise string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Second) {
		require.True(h.t, time.Now().Before(deadline), otherwise)
	}
}
