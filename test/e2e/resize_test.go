//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resize asks for other CPUs of a worker, as users do.
func (s *space) resize(pod, request, limit string) error {
	s.t.Helper()
	_, err := s.try(time.Minute, "patch", "pod", pod, "--subresource", "resize", "-p",
		fmt.Sprintf(`{"spec":{"containers":[{"name":"worker","resources":{"requests":{"cpu":%q},"limits":{"cpu":%q}}}]}}`, request, limit))
	return err
}

// TestWorkerResized asks for more CPUs of a worker than its node has left, while a run goes on. The launcher says that
// the kubelet defers it, and loses no worker. The next attempt has the slots that the other pod is annotated with by
// then. A request that no node can ever meet does not come that far: the API server refuses it.
//
// No resize is applied here. Our nodes have no cgroup for each QoS class. Kubelets of such nodes crash when they apply
// one: up to 1.37.2, doPodResizeAction reads a nil limit. TestClusterResize has resizes that are applied.
//
// It runs alone: the scheduler counts what a pod has asked for, so for a minute nothing fits on node1.
func TestWorkerResized(t *testing.T) {
	s := newSpace(t)
	j := job{name: "resized", image: "openmpi", workers: 2, slots: 2, flags: []string{"--max-restarts=1", "--restart-on=+3"},
		command: []string{"sh", "-c", `agent hosts; echo "attempt $MUSTER_ATTEMPT"; [ $MUSTER_ATTEMPT = 0 ] || exit 0; until [ -e /tmp/go ]; do sleep 0.2; done; exit 3`},
		edit: func(pod *corev1.Pod) {
			if isWorker(pod) {
				pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
				pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
				pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node1"}
			}
		}}
	s.start(j)
	log := s.follow("resized-launcher")
	log.until(2*time.Minute, "attempt 0")
	before := containerID(s.pod("resized-worker-0"))
	all := s.kubectl("get", "node", "node1", "-o", "jsonpath={.status.allocatable.cpu}")
	err := s.resize("resized-worker-1", all, all)
	if minorVersion(t) >= 35 {
		require.NoError(t, err)
		line := log.until(3*time.Minute, "the resize of resized-worker-1 has waited")
		require.True(t, strings.HasPrefix(line, "agent: the resize of resized-worker-1 has waited for 1m (Deferred): "), line)
		// Otherwise the kubelet would apply it when the other worker has ended.
		require.NoError(t, s.resize("resized-worker-1", "10m", "1"))
	} else {
		t.Logf("this cluster resizes nothing: %v", err)
	}
	s.kubectl("annotate", "pod", "resized-worker-0", "muster.dev/slots=1")
	s.kubectl("exec", "resized-launcher", "--", "touch", "/tmp/go")
	log.until(time.Minute, "attempt 1")
	end := s.end("resized-launcher", time.Minute)
	require.Zero(t, end.code, end.log)
	require.Empty(t, s.report(end).Lost)
	require.Equal(t, before, containerID(s.pod("resized-worker-0")), "the container goes on")
	first, second, _ := strings.Cut(end.log, "attempt 0")
	require.Equal(t, 2, strings.Count(first, "slots=2\n"), end.log)
	require.Equal(t, 1, strings.Count(second, "slots=1\n"), end.log)
	require.Equal(t, 1, strings.Count(second, "slots=2\n"), end.log)
	require.NotContains(t, end.log, "resized in place")
	s.requireWorkersDone(j)
}
