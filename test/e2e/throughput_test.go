//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

const (
	streamMiB   = 256
	streamPairs = 9
)

// TestThroughput: how fast one session's stdout comes through, from a file in
// the worker to a pipe in the launcher's pod, against the cluster's own
// kubectl in the same pod with the same rights.
func TestThroughput(t *testing.T) {
	s := newSpace(t)
	j := job{name: "stream", image: "openmpi", workers: 1, slots: 1, command: []string{"sleep", "inf"}}
	s.apply(readPods(s.name)...)
	s.start(j)
	s.follow("stream-launcher").until(2*time.Minute, "1/1 ready")
	s.putKubectl("stream-launcher")
	size := fmt.Sprint(streamMiB << 20)
	made := s.exec(time.Minute, "stream-worker-0", "sh", "-c", "head -c "+size+" /dev/urandom > /tmp/file && wc -c < /tmp/file")
	require.Equal(t, size+"\n", made.stdout)

	pair := s.exec(5*time.Minute, "stream-launcher", "sh", "-c", `
timed() {
    name=$1; shift; start=$(date +%s%N)
    bytes=$({ "$@" || echo $? >/tmp/failed; } | wc -c)
    echo "$name $bytes $(( $(date +%s%N) - start ))"
    [ ! -e /tmp/failed ] || { echo "$name exits with $(cat /tmp/failed)" >&2; exit 1; }
}
i=0
while [ $i -le `+fmt.Sprint(streamPairs)+` ]; do
    timed agent agent rsh stream-worker-0 cat /tmp/file
    timed kubectl /tmp/kubectl exec stream-worker-0 -- cat /tmp/file
    i=$((i+1))
done`)
	require.Zero(t, pair.code, "%+v", pair)
	rates := map[string][]float64{}
	for line := range strings.Lines(pair.stdout) {
		var name string
		var bytes int
		var took time.Duration
		_, err := fmt.Sscan(line, &name, &bytes, &took)
		require.NoError(t, err, line)
		if lost := streamMiB<<20 - bytes; name == "kubectl" && lost > 0 { // it does, on a busy machine
			t.Logf("kubectl exec lost %d bytes and said nothing; its rate is that of what arrived", lost)
		} else {
			require.Zero(t, lost, "%s lost or made up output", name)
		}
		rates[name] = append(rates[name], float64(bytes>>20)/took.Seconds())
	}
	agent, kubectl := rates["agent"][1:], rates["kubectl"][1:] // the first of each warms up
	t.Logf("MiB/s: agent %.0f, kubectl %.0f", agent, kubectl)
	record(t, figure.Row{Name: "session stdout over kubectl exec", Op: ">=", Bar: 0.8}, map[string]figure.Series{
		"session stdout over kubectl exec": {Unit: "ratio", Reduce: "median", Samples: pairRatios(agent, kubectl)},
		"agent":                            {Unit: "MiB/s", Reduce: "median", Samples: agent},
		"kubectl":                          {Unit: "MiB/s", Reduce: "median", Samples: kubectl},
	})
}

// readPods lets the launcher's service account get pods: kubectl exec looks at
// the pod first.
func readPods(namespace string) []any {
	meta := metav1.ObjectMeta{Name: "kubectl", Namespace: namespace}
	return []any{
		rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}},
		rbacv1.RoleBinding{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}, ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "kubectl"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "stream-launcher", Namespace: namespace}}},
	}
}

// putKubectl copies the cluster's kubectl to /tmp/kubectl of a pod; it works
// there with the pod's service account.
func (s *space) putKubectl(pod string) {
	s.t.Helper()
	program, err := os.ReadFile(kube.Path())
	require.NoError(s.t, err)
	_, err = kubectlCall{namespace: s.name, stdin: program, limit: 2 * time.Minute}.run(
		"exec", "-i", pod, "--", "sh", "-c", "cat > /tmp/kubectl && chmod 755 /tmp/kubectl")
	require.NoError(s.t, err)
}
