//go:build linux

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// onBlock puts a pod on a node of this block, as the controller would say it.
func onBlock(block string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName = "node-" + pod.Name
		pod.Annotations = map[string]string{names.AnnotationTopology: "topology.kubernetes.io/zone=z,network.topology.nvidia.com/block=" + block}
	}
}

// TestClusterRanksByTopology checks that ranks follow the blocks of the workers' nodes, and that a
// replacement on another node changes them only in the next attempt.
func TestClusterRanksByTopology(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for i, block := range []string{"a", "b", "a", "b"} {
		c.start(i, onBlock(block))
	}
	l := c.run("--workers=4", "--max-restarts=1", "--exit=strict", "--", "sh", "-c", `agent hosts -o wide
for h in $(agent hosts | cut -d' ' -f1); do agent rsh $h 'echo attempt $MUSTER_ATTEMPT on $ON'; done
test $MUSTER_ATTEMPT = 1 || agent rsh pi-worker-2 'exec sleep 4741'`)
	eventually(t, "all run", func() bool { return strings.Count(l.out.String(), "attempt 0 on") == 4 })
	require.Equal(t, `RANK   WORKER        NODE               DOMAIN   SLOTS   ADDRESS
0      pi-worker-0   node-pi-worker-0   a        1       10.1.2.1
1      pi-worker-2   node-pi-worker-2   a        1       10.1.2.3
2      pi-worker-1   node-pi-worker-1   b        1       10.1.2.2
3      pi-worker-3   node-pi-worker-3   b        1       10.1.2.4
attempt 0 on pi-worker-0
attempt 0 on pi-worker-2
attempt 0 on pi-worker-1
attempt 0 on pi-worker-3
`, l.out.String())
	c.signal(2, syscall.SIGKILL)
	c.replace(2, onBlock("b"))
	require.Zero(t, l.end(t), l.err.String())
	_, second, _ := strings.Cut(l.out.String(), "RANK   WORKER        NODE               DOMAIN   SLOTS   ADDRESS\n0      pi-worker-0   node-pi-worker-0   a        1       10.1.2.1\n1      pi-worker-1")
	require.Contains(t, second, "attempt 1 on pi-worker-0\nattempt 1 on pi-worker-1\nattempt 1 on pi-worker-2\nattempt 1 on pi-worker-3\n")
}

// TestClusterRanksByNumber checks that --topology-keys=none keeps the order of the numbers.
func TestClusterRanksByNumber(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for i, block := range []string{"a", "b", "a"} {
		c.start(i, onBlock(block))
	}
	l := c.run("--workers=3", "--topology-keys=none", "--exit=command", "--", "agent", "hosts")
	require.Zero(t, l.end(t), l.err.String())
	require.Equal(t, "10.1.2.1 slots=1\n10.1.2.2 slots=1\n10.1.2.3 slots=1\n", l.out.String())
}
