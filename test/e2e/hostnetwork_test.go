//go:build e2e

package e2e

import (
	"net"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

var boundLine = regexp.MustCompile(`(?m)^bound (\S+)$`)

// TestHostNetwork: two jobs of two workers with the host's network, all four on
// one node: every process's own port and both master ports differ, and can be
// bound at the same time.
func TestHostNetwork(t *testing.T) {
	t.Parallel()
	s := newSpaceWith(t, "privileged")
	script, err := os.ReadFile("testdata/ports.py")
	require.NoError(t, err)
	var nodes corev1.NodeList
	s.read(&nodes, "get", "nodes")
	node := nodes.Items[0]
	jobs := []string{"left", "right"}
	for _, name := range jobs {
		s.start(job{name: name, image: "openmpi", workers: 2, slots: 1, flags: []string{"--framework=paddle", "--output=plain"},
			command: []string{"python3", "-c", string(script)},
			edit: func(pod *corev1.Pod) {
				if isWorker(pod) {
					pod.Spec.HostNetwork, pod.Spec.TopologySpreadConstraints = true, nil
					pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node.Labels[corev1.LabelHostname]}
				}
			}})
	}
	bound, hosts := map[string]string{}, map[string]bool{}
	for _, name := range jobs {
		end := s.end(name+"-launcher", 2*time.Minute)
		require.Zero(t, end.code, end.log)
		lines := boundLine.FindAllStringSubmatch(end.log, -1)
		require.Len(t, lines, 3, end.log)
		for _, m := range lines {
			require.Empty(t, bound[m[1]], "%s of %s is bound by %s as well", m[1], name, bound[m[1]])
			bound[m[1]] = name
			host, _, err := net.SplitHostPort(m[1])
			require.NoError(t, err)
			hosts[host] = true
		}
	}
	require.Len(t, bound, 6)
	require.Len(t, hosts, 1, "all on one address: %v", bound)
}
