//go:build linux

package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestProgress checks that the recorded time is that of the first observation.
func TestProgress(t *testing.T) {
	p := newProgress()
	pod := &corev1.Pod{}
	pod.Name, pod.Spec.Containers = "a", make([]corev1.Container, 2)
	p.take(pod)
	require.Empty(t, p.Scheduled)
	pod.Spec.NodeName = "n"
	p.take(pod)
	at := p.Scheduled["a"]
	require.False(t, at.IsZero())
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: running}}
	p.take(pod)
	require.Empty(t, p.Running, "only one of two containers has started")
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}})
	p.take(pod)
	require.Len(t, p.Running, 1, "a container that has ended counts")
	require.Equal(t, at, p.Scheduled["a"])
	for _, name := range []string{"", v1alpha1.PhaseWaiting, v1alpha1.PhaseRunning} {
		job := &v1alpha1.LaunchJob{}
		job.Name, job.Status.Phase = "j", name
		p.take(job)
	}
	require.Equal(t, 1, p.InPhase(v1alpha1.PhaseRunning))
	require.Equal(t, 0, p.InPhase(v1alpha1.PhaseSucceeded))

	mpi := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m"}}}
	p.take(mpi)
	require.Len(t, p.Phases, 3, "the job has no conditions yet")
	mpi.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Created", "status": "True"}, map[string]any{"type": "Succeeded", "status": "False"}}}
	p.take(mpi)
	require.Contains(t, p.Phases, Phase{"m", "Created"})
	require.NotContains(t, p.Phases, Phase{"m", "Succeeded"})
}

func TestParseLines(t *testing.T) {
	lines, err := ParseLines("2026-11-22T14:05:09.5Z agent: 20/20 ready\n2026-11-22T14:05:10.25Z \n2026-11-22T14:05:11Z rank 0")
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 14, 5, 9, 5e8, time.UTC)
	require.Equal(t, []Line{{at, "agent: 20/20 ready"}, {at.Add(750 * time.Millisecond), ""}, {at.Add(1500 * time.Millisecond), "rank 0"}}, lines)
	_, err = ParseLines("rank 0\n")
	require.ErrorContains(t, err, "read log")
}

func TestSizes(t *testing.T) {
	s := Sizes{7}
	require.NoError(t, s.Set("2,20,60"))
	require.Equal(t, Sizes{2, 20, 60}, s)
	require.Equal(t, "2,20,60", s.String())
	for _, bad := range []string{"", "2,", "2,0", "-1", "two"} {
		require.ErrorContains(t, s.Set(bad), "is not a number of workers", bad)
	}
}

func TestParseServer(t *testing.T) {
	const text = `# HELP apiserver_longrunning_requests [STABLE] Gauge of all active long-running apiserver requests.
# TYPE apiserver_longrunning_requests gauge
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="",verb="WATCH",version="v1"} 7
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="exec",verb="CONNECT",version="v1"} 20
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="exec",verb="GET",version="v1"} 1
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="log",verb="CONNECT",version="v1"} 3
apiserver_longrunning_requests{resource="nodes",subresource="exec"} 7
kubelet_websocket_streaming_requests_total{subresource="attach"} 4
kubelet_websocket_streaming_requests_total{subresource="exec"} 9
go_goroutines 1200
go_memstats_heap_alloc_bytes 2.5e+08
go_memstats_heap_alloc_bytes_total 9e+12
go_memstats_stack_inuse_bytes 1.5e+07
process_cpu_seconds_total 56.5
process_resident_memory_bytes 6.64612e+08
process_virtual_memory_bytes 1e+12
`
	s, err := parseServer([]byte(text))
	require.NoError(t, err)
	require.Equal(t, Server{Streams: 21, WebSockets: 9, CPUSeconds: 56.5, Goroutines: 1200, Live: 2.65e8, Resident: 6.64612e8}, s)

	none, err := parseServer([]byte(text[strings.Index(text, "go_goroutines"):]))
	require.NoError(t, err)
	require.Zero(t, none.Streams, "without the gauge there were no streams yet")

	_, err = parseServer([]byte(strings.ReplaceAll(text, "go_goroutines", "go_threads")))
	require.ErrorContains(t, err, "no go_goroutines")
	for _, bad := range []string{"go_goroutines many\n", `apiserver_longrunning_requests{resource="pods",subresource="exec"} x`} {
		_, err = parseServer([]byte(bad))
		require.ErrorContains(t, err, "read metrics")
	}
}
