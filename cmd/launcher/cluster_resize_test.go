//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/exec/names"
)

// resized applies a CPU limit to a pod in place, as a kubelet does, and sets its slots.
func resized(cpu, slots string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		pod.Annotations = map[string]string{names.AnnotationSlots: slots}
	}
}

// TestClusterResize checks a resize in place while a command runs: one line for both workers, an
// event for each, and no loss. The next attempt has the slots that the pods are annotated with by
// then. All that comes from the watch of the pods.
func TestClusterResize(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for i := range 2 {
		c.start(i)
		c.api.Edit(namespace, podName(i), resized("4", "4"))
	}
	events := filepath.Join(c.dir, "events")
	l := c.run("--workers=2", "--max-restarts=1", "--restart-on=+3", "--events="+events, "--", "sh", "-c",
		`agent hosts; test $MUSTER_ATTEMPT = 1 && exit; while ! test -e `+c.dir+`/go; do sleep 0.02; done; exit 3`)
	eventually(t, "attempt 0 runs", func() bool { return strings.Contains(l.out.String(), "10.1.2.2 slots=4\n") })
	before := len(c.api.Requests())
	for i := range 2 {
		c.api.Edit(namespace, podName(i), resized("2", "2"))
	}
	const line = "agent: pi-worker-0 and 1 more worker: the CPU limit is 2 now, not 4 (resized in place); running ranks keep their slots and threads, a restart reads the annotation muster.dev/slots\n"
	eventually(t, "the user is told", func() bool { return strings.Contains(l.err.String(), line) })
	require.Len(t, c.api.Requests(), before, "a resize costs no request")
	require.NoError(t, os.WriteFile(c.dir+"/go", nil, 0o600))
	require.Zero(t, l.end(t), l.err.String())
	require.Equal(t, "10.1.2.1 slots=4\n10.1.2.2 slots=4\n10.1.2.1 slots=2\n10.1.2.2 slots=2\n", l.out.String())
	require.Equal(t, 1, strings.Count(l.err.String(), "resized in place"))
	require.Empty(t, l.figures(t).Lost)
	text, err := os.ReadFile(events)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), `"resized"`), string(text))
}
