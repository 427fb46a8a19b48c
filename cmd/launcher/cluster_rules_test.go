//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/exec/names"
)

// failed gives the pod of a worker the status that it gets when PID 1 has exited.
func (c *cluster) failed(i, code int) {
	c.api.Edit(namespace, podName(i), func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		s := &pod.Status.ContainerStatuses[0]
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: "Error"}}
	})
}

// TestClusterReplacesAWorker checks that the worker where the failure began exits in such a way that
// a controller makes another pod, and that the launcher waits for that pod. The other worker is kept.
func TestClusterReplacesAWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	said := c.start(1)
	l := c.run("--workers=2", "--max-restarts=1", "--hopeless-after=1s", "--framework=plain",
		`--restart-policy=[{"container":"sidecar","action":"fail"},{"container":"main","exitCodes":[3],"action":"replace-worker"}]`, "--", "sh", "-c",
		`echo attempt $MUSTER_ATTEMPT on $ON; test $RANK$MUSTER_ATTEMPT != 10 || { sleep 0.5; exit 3; }; test $MUSTER_ATTEMPT = 1 || exec sleep 4743`)
	require.Equal(t, names.ExitReplaced, c.exited(1), "so that its pod has failed")
	require.Contains(t, said.String(), lastWords(""), "the program may be at fault")
	c.failed(1, names.ExitReplaced)
	eventually(t, "the launcher waits for the replacement", func() bool { return strings.Contains(l.err.String(), "Missing: no pod yet for worker 1") })
	require.NotContains(t, l.out.String(), "attempt 1")
	c.replace(1)
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "agent: attempt 2 of 2: rank 1 on pi-worker-1 exited with 3; replacing worker pi-worker-1\n")
	for i := range 2 {
		require.Equal(t, 1, strings.Count(l.out.String(), "attempt 1 on "+podName(i)+"\n"), l.out.String())
		require.Zero(t, c.exited(i))
	}
}

// TestClusterBrokenDevice checks that a rule for the cause device replaces the worker whose process
// reported a broken device, and that the last words of the worker say so.
func TestClusterBrokenDevice(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	said := c.start(1)
	l := c.run("--workers=2", "--max-restarts=1", "--framework=plain", `--restart-policy=[{"causes":["device"],"action":"replace-worker"}]`, "--", "sh", "-c",
		`test $RANK$MUSTER_ATTEMPT != 10 || { echo "CUDA error: uncorrectable ECC error encountered" >&2; exit 1; }; test $MUSTER_ATTEMPT = 1 || exec sleep 4743`)
	require.Equal(t, names.ExitReplaced, c.exited(1))
	require.Contains(t, said.String(), lastWords(names.WhyDevice))
	c.failed(1, names.ExitReplaced)
	c.replace(1)
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "replacing worker pi-worker-1\n")
}

// TestClusterRestartsPods checks that all workers are replaced, for a command in the launcher.
func TestClusterRestartsPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(0)
	c.start(1)
	l := c.run("--workers=2", "--max-restarts=1", `--restart-policy=[{"action":"RestartPods"}]`, "--", "sh", "-c",
		`agent rsh pi-worker-0 'echo attempt $MUSTER_ATTEMPT on $ON'; exit $((3 - 3*MUSTER_ATTEMPT))`)
	for i := range 2 {
		require.Equal(t, names.ExitReplaced, c.exited(i))
		c.failed(i, names.ExitReplaced)
	}
	for i := range 2 {
		c.replace(i)
	}
	require.Zero(t, l.end(t), l.err.String())
	require.Contains(t, l.err.String(), "agent: attempt 2 of 2: sh exited with 3; replacing all workers\n")
	require.Contains(t, l.out.String(), "attempt 1 on "+podName(0)+"\n")
}
