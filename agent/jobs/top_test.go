package jobs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/usage"
	"github.com/musterhq/muster/test/fakekube"
)

func answer(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	})
}

// TestTop checks that a job's GPUs include those of pods that do not run yet, as the table of nodes does. A value
// without a measurement is not shown as 0.
func TestTop(t *testing.T) {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	job.Status.Phase = v1alpha1.PhaseRunning
	s, objects, _, api := newWire(t, job)
	objects.Put(&v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "idle", Namespace: "ns"}})
	measured, code := `{"items": [
		{"metadata": {"name": "talk-worker-0", "namespace": "ns"}, "containers": [{"usage": {"cpu": "250m", "memory": "64Mi"}}, {"usage": {"cpu": "1", "memory": "1Mi"}}]},
		{"metadata": {"name": "talk-worker-1", "namespace": "ns"}, "containers": [{"usage": {"cpu": "5n", "memory": "1Gi"}}]}]}`, http.StatusOK
	s.Handle("GET /apis/metrics.k8s.io/v1beta1/namespaces/ns/pods", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, measured)
	}))
	s.Handle("GET /api/v1/nodes", answer(`{"items": [
		{"metadata": {"name": "one"}, "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}},
		{"metadata": {"name": "two"}, "spec": {"unschedulable": true}, "status": {"allocatable": {"cpu": "4"}}}]}`))
	for i := range 5 {
		p := talker(i, corev1.ContainerState{})
		p.Spec.NodeName = "one"
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2"), "cpu": resource.MustParse("1")}
		if i == 2 {
			p.Status.Phase = corev1.PodSucceeded
		}
		if i == 3 {
			p.Status.Phase = corev1.PodPending
			p.Spec.NodeName = ""
		}
		if i == 4 { // pulls its image
			p.Status.Phase = corev1.PodPending
			p.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"] = resource.MustParse("1")
		}
		s.Set(p)
	}
	table, note, err := api.TopJobs(t.Context(), "ns", "")
	require.NoError(t, err)
	require.Empty(t, note)
	require.Equal(t, [][]string{
		{"ns", "idle", "", "0/0", "0", "<none>", "<none>"},
		{"ns", "talk", "Running", "2/5", "5", "1251m", "1089Mi"},
	}, table.Rows)
	table, err = api.TopNodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"one", "Ready", "8", "5", "3"}, {"two", "NotReady,SchedulingDisabled", "0", "0", "0"}, {"all", "", "8", "5", "3"},
	}, table.Rows)
	// metrics-server does not show a new pod at once.
	measured = `{"items": [{"metadata": {"name": "talk-worker-1", "namespace": "ns"}, "containers": [{"usage": {"cpu": "2", "memory": "1Gi"}}]}]}`
	rows, _, err := api.TopJobs(t.Context(), "ns", "talk")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"ns", "talk", "Running", "2/5", "5", ">=2000m", ">=1024Mi"}}, rows.Rows)
	measured, code = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "you cannot list pods"}`, http.StatusForbidden
	rows, note, err = api.TopJobs(t.Context(), "ns", "talk")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"ns", "talk", "Running", "2/5", "5", "<unknown>", "<unknown>"}}, rows.Rows)
	require.Contains(t, note, "cannot read metrics.k8s.io (metrics-server), so CPU and memory are unknown: you cannot list pods")
	_, note, err = api.TopJobs(t.Context(), "", "talk")
	require.NoError(t, err)
	require.Contains(t, note, "the cluster does not serve metrics.k8s.io (metrics-server)")
}

// TestGPUs checks that agent top counts what a launcher counts: shares of GPUs, but not their memory or time.
func TestGPUs(t *testing.T) {
	of := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "gpu.intel.com/xe", "gpu.intel.com/memory.max", "gpu.intel.com/millicores"} {
		of[name] = resource.MustParse("4")
	}
	require.Equal(t, int64(12), sumGPUs(of))
}

// TestStatusWords checks that the status of a pod is shown in kubectl's words.
func TestStatusWords(t *testing.T) {
	waiting := func(why string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}
	}
	ended := func(code int32, why string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: why}}
	}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := talker(0, corev1.ContainerState{})
		change(p)
		return p
	}
	for want, p := range map[string]*corev1.Pod{
		"Running":          pod(func(*corev1.Pod) {}),
		"ImagePullBackOff": talker(0, waiting("ImagePullBackOff")),
		"OOMKilled":        talker(0, ended(137, "OOMKilled")),
		"Init:Error": pod(func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: ended(128, "")}}
		}),
		"Init:ImagePullBackOff": pod(func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: waiting("ImagePullBackOff")}}
		}),
		"Completed": pod(func(p *corev1.Pod) { // a sidecar gets SIGTERM at the end
			p.Status.Phase, p.Status.Conditions = corev1.PodSucceeded, []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: ended(143, "Error")}}
			p.Status.ContainerStatuses[0].State = ended(0, "Completed")
		}),
		"Evicted":     pod(func(p *corev1.Pod) { p.Status.Reason, p.Status.Phase = "Evicted", corev1.PodFailed }),
		"Terminating": pod(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
	} {
		require.Equal(t, want, standing(p))
	}
}

// TestCode checks how the end of a job becomes an exit code.
func TestCode(t *testing.T) {
	with := func(kind string, code int32) *v1alpha1.LaunchJob {
		j := &v1alpha1.LaunchJob{}
		j.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue}}
		if code != 0 {
			j.Status.FirstFailure = &v1alpha1.FirstFailure{ExitCode: code}
		}
		return j
	}
	require.False(t, Over(&v1alpha1.LaunchJob{}))
	require.True(t, Over(with(v1alpha1.Failed, 0)))
	require.Equal(t, 0, Code(with(v1alpha1.Succeeded, 137)), "a failure of an earlier attempt does not count")
	require.Equal(t, 137, Code(with(v1alpha1.Failed, 137)))
	require.Equal(t, 1, Code(with(v1alpha1.Failed, 0)))
	require.Equal(t, 1, Code(with(v1alpha1.Failed, 256)))
}

// TestWorkers checks what is known about the workers of a job without its launcher, and that only pods
// that hold GPUs are asked for them.
func TestWorkers(t *testing.T) {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	s, _, _, api := newWire(t, job)
	s.Handle("GET /apis/metrics.k8s.io/v1beta1/namespaces/ns/pods", answer(`{"items": [
		{"metadata": {"name": "talk-worker-0", "namespace": "ns"}, "containers": [{"usage": {"cpu": "250m", "memory": "64Mi"}}]}]}`))
	s.Handle(fakekube.ExecPath, fakekube.NewExec(t, func(_ context.Context, pod, _ string, argv []string, _ io.Reader, out, _ io.Writer) (int, error) {
		if pod != "talk-worker-0" || argv[0] != "nvidia-smi" {
			fmt.Fprintln(out, "no such program")
			return 127, nil
		}
		fmt.Fprint(out, "40\n61\n")
		return 0, nil
	}))
	for i := range 4 {
		p := talker(i, corev1.ContainerState{})
		p.Spec.NodeName = "one"
		if i < 2 {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}
		}
		if i == 3 {
			p.Status.Phase = corev1.PodPending
		}
		s.Set(p)
	}
	all, note, err := api.Workers(t.Context(), job)
	require.NoError(t, err)
	require.Empty(t, note)
	api.AskGPUs(t.Context(), "talk", all)
	cpu, memory, gpu := int64(250), int64(64<<20), int64(50)
	require.Equal(t, []usage.Worker{
		{Worker: "talk-worker-0", Node: "one", Ranks: []usage.Rank{{Rank: 0}}, CPU: &cpu, Memory: &memory, GPU: &gpu},
		{Worker: "talk-worker-1", Node: "one", Ranks: []usage.Rank{{Rank: 1}}},
		{Worker: "talk-worker-2", Node: "one", Ranks: []usage.Rank{{Rank: 2}}},
	}, all)
}

// TestUtilization checks what nvidia-smi may print.
func TestUtilization(t *testing.T) {
	require.Equal(t, int64(0), *utilization("0\n"))
	for _, text := range []string{"", "[N/A]\n", "40\n[N/A]\n", "no devices were found", "400\n", "-1\n"} {
		require.Nil(t, utilization(text), text)
	}
}
