package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// outcome is the expected result of one reconcile.
type outcome struct {
	create, remove, record []string
	verdict                string // reason of the end, "" while the job runs
	phase, reason          string
}

func look(job *v1alpha1.LaunchJob, pods ...*corev1.Pod) outcome {
	b := aBuilder(job)
	sc := scene{now: now()}
	var surplus []*corev1.Pod
	sc.places, surplus = observe(b.slots, pods, b.attempt, now())
	sc.verdict = judgeJob(job, sc.places, now())
	if !sc.verdict.over {
		sc.steps = plan(job, sc.places, surplus, now())
	}
	status := newStatus(job, sc)
	o := outcome{verdict: sc.verdict.reason, phase: status.Phase, reason: status.Reason}
	for _, c := range sc.steps.create {
		o.create = append(o.create, c.name)
	}
	for _, p := range sc.steps.remove {
		o.remove = append(o.remove, p.Name)
	}
	for _, r := range sc.steps.record {
		o.record = append(o.record, r.Pod+": "+r.Reason)
	}
	return o
}

func TestLook(t *testing.T) {
	job := aJob(t, "mpi")
	launched := func(change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
		j := job.DeepCopy()
		j.Status.Attempt, j.Status.StartTime = 1, &metav1.Time{Time: now().Add(-time.Hour)}
		j.Status.Conditions = []metav1.Condition{{Type: v1alpha1.Launched, Status: metav1.ConditionTrue}}
		for _, f := range change {
			f(j)
		}
		return j
	}
	withRecord := func(j *v1alpha1.LaunchJob) {
		j.Status.Replaced, j.Status.Replacements = []v1alpha1.Replaced{{UID: "uid-"}}, 2
	}
	spentAll := func(j *v1alpha1.LaunchJob) {
		j.Spec.RestartPolicy, j.Status.Conditions[0].LastTransitionTime = nil, metav1.NewTime(now().Add(-10*time.Minute))
	}
	launcher, w0, w1 := aPod(job, "pi-launcher"), aPod(job, "pi-worker-0"), aPod(job, "pi-worker-1")
	join := aJob(t, "join")
	member := func(name string, change ...func(*corev1.Pod)) *corev1.Pod { return aPod(join, name, change...) }
	for name, tc := range map[string]struct {
		job  *v1alpha1.LaunchJob
		pods []*corev1.Pod
		want outcome
	}{
		"a new job": {job, nil, outcome{create: []string{"pi-launcher", "pi-worker-0", "pi-worker-1"}, phase: "Waiting", reason: "Waiting"}},
		"all run":   {launched(), []*corev1.Pod{launcher, w0, w1}, outcome{phase: "Running"}},
		"a worker was deleted": {launched(), []*corev1.Pod{launcher, w0},
			outcome{create: []string{"pi-worker-1"}, phase: "Restarting", reason: "Waiting"}},
		"a worker is being deleted": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", deleted(2*time.Second, 30*time.Second))},
			outcome{phase: "Restarting", reason: "Terminating"}},
		"a worker is being evicted": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", deleted(2*time.Second, 30*time.Second), disruptedBy("EvictionByEvictionAPI"))},
			outcome{record: []string{"pi-worker-1: EvictionByEvictionAPI"}, phase: "Restarting", reason: "Evicted"}},
		"a worker is being evicted, already recorded": {launched(withRecord), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", deleted(2*time.Second, 30*time.Second), disruptedBy("EvictionByEvictionAPI"))},
			outcome{phase: "Restarting", reason: "Evicted"}},
		"a worker is being evicted, no restart is left": {launched(spentAll), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", deleted(2*time.Second, 30*time.Second), disruptedBy("EvictionByEvictionAPI"))},
			outcome{phase: "Restarting", reason: "Evicted"}},
		"a worker's node does not answer": {launched(), []*corev1.Pod{launcher, w0,
			aPod(job, "pi-worker-1", deleted(4*time.Second, 30*time.Second), disruptedBy("DeletionByTaintManager"), silentNode)},
			outcome{create: []string{"pi-worker-1-r1"}, record: []string{"pi-worker-1: DeletionByTaintManager"}, phase: "Restarting", reason: "NodeLost"}},
		"a worker's deletion is overdue": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", deleted(time.Minute, 30*time.Second))},
			outcome{create: []string{"pi-worker-1-r1"}, record: []string{"pi-worker-1: deleted, but its node does not confirm it"}, phase: "Restarting", reason: "Terminating"}},
		"a replacement's deletion is overdue too": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", deleted(2*time.Minute, 0)),
			aPod(job, "pi-worker-1", deleted(time.Minute, 0), func(p *corev1.Pod) { p.Name, p.CreationTimestamp = "pi-worker-1-r1", metav1.NewTime(now()) })},
			outcome{create: []string{"pi-worker-1-r2"}, record: []string{"pi-worker-1-r1: deleted, but its node does not confirm it"}, phase: "Restarting", reason: "NodeLost"}},
		"evicted: recorded first": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(143, time.Minute, ""), disruptedBy("EvictionByEvictionAPI"))},
			outcome{record: []string{"pi-worker-1: EvictionByEvictionAPI"}, phase: "Restarting", reason: "Evicted"}},
		"evicted: then removed": {launched(withRecord), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(143, time.Minute, ""), disruptedBy("EvictionByEvictionAPI"))},
			outcome{remove: []string{"pi-worker-1"}, phase: "Restarting", reason: "Evicted"}},
		"deleted, no restart is left": {launched(spentAll), []*corev1.Pod{launcher, w0}, outcome{phase: "Running", reason: "WorkerLost"}},
		"evicted, no restart is left": {launched(spentAll), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(143, time.Minute, ""), disruptedBy("EvictionByEvictionAPI"))},
			outcome{phase: "Running", reason: "WorkerLost"}},
		"a worker's node does not answer, no restart is left": {launched(spentAll), []*corev1.Pod{launcher, w0,
			aPod(job, "pi-worker-1", deleted(4*time.Second, 30*time.Second), disruptedBy("DeletionByTaintManager"), silentNode)},
			outcome{phase: "Running", reason: "WorkerLost"}},
		"deleted, no restart is left, an earlier launcher launched": {launched(spentAll, func(j *v1alpha1.LaunchJob) {
			j.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now().Add(-time.Hour))
		}), []*corev1.Pod{launcher, w0}, outcome{create: []string{"pi-worker-1"}, phase: "Restarting", reason: "Waiting"}},
		"deleted, no restart is left, elastic": {launched(spentAll, func(j *v1alpha1.LaunchJob) { j.Spec.Elastic = &v1alpha1.Elastic{Min: 1, Max: 2} }),
			[]*corev1.Pod{launcher, w0}, outcome{create: []string{"pi-worker-1"}, phase: "Running", reason: "Waiting"}},
		"a worker failed, restarts are left": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(137, time.Minute, ""))},
			outcome{record: []string{"pi-worker-1: ended with 137"}, phase: "Running"}},
		"a worker failed, no restart is left": {launched(func(j *v1alpha1.LaunchJob) { j.Status.Replacements = 2 }),
			[]*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(137, time.Minute, ""))}, outcome{phase: "Running"}},
		"a worker failed, and its own rules restart it in its pod": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(137, time.Minute, ""), restartsItself)},
			outcome{phase: "Restarting", reason: "Error"}},
		"a launcher gave a worker up, whatever its own rules say": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(94, time.Second, ""), restartsItself)},
			outcome{record: []string{"pi-worker-1: its launcher asked for another pod"}, phase: "Running"}},
		"the launcher failed, and its own rules restart it in its pod": {launched(), []*corev1.Pod{aPod(job, "pi-launcher", ended(3, time.Second, ""), restartsItself), w0, w1},
			outcome{phase: "Restarting", reason: "Error"}},
		"a launcher gave a worker up": {launched(func(j *v1alpha1.LaunchJob) { j.Status.Replacements = 2 }),
			[]*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(94, time.Second, ""))}, outcome{record: []string{"pi-worker-1: its launcher asked for another pod"}, phase: "Running"}},
		"a launcher gave a worker up: then removed": {launched(withRecord),
			[]*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(94, time.Second, ""))}, outcome{remove: []string{"pi-worker-1"}, phase: "Running"}},
		"a worker failed just now, so its launcher may handle it": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(137, time.Second, ""))},
			outcome{phase: "Running"}},
		"the launcher has ended the workers": {launched(), []*corev1.Pod{launcher, aPod(job, "pi-worker-0", ended(0, time.Minute, "")), aPod(job, "pi-worker-1", ended(0, time.Minute, ""))},
			outcome{phase: "Running"}},
		"a worker ended and the launcher is gone": {launched(), []*corev1.Pod{w0, aPod(job, "pi-worker-1", ended(0, time.Hour, ""))},
			outcome{create: []string{"pi-launcher"}, phase: "Restarting", reason: "Waiting"}},
		"a worker ended before a new launcher started": {launched(), []*corev1.Pod{
			aPod(job, "pi-launcher", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now()) }), w0, aPod(job, "pi-worker-1", ended(0, time.Minute, ""))},
			outcome{record: []string{"pi-worker-1: ended with 0"}, phase: "Running"}},
		"a worker ended before a new launcher started, and its node's clock is ahead": {launched(), []*corev1.Pod{
			aPod(job, "pi-launcher", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now().Add(-time.Minute)) }), w0, aPod(job, "pi-worker-1", ended(0, 57*time.Second, ""))},
			outcome{record: []string{"pi-worker-1: ended with 0"}, phase: "Running"}},
		"the launcher succeeded, its sidecar still runs": {launched(), []*corev1.Pod{aPod(job, "pi-launcher", ended(0, time.Second, ""), besideASidecar), w0, w1},
			outcome{verdict: "Completed", phase: "Succeeded", reason: "Completed"}},
		"the launcher failed": {launched(), []*corev1.Pod{aPod(job, "pi-launcher", ended(3, time.Second, "rank 3 on pi-worker-1 exited with 3 (exit code 3)")), w0, w1},
			outcome{verdict: "Failed", phase: "Failed", reason: "Failed"}},
		"the launcher was evicted": {launched(), []*corev1.Pod{aPod(job, "pi-launcher", ended(143, time.Second, ""), disruptedBy("PreemptionByScheduler")), w0, w1},
			outcome{record: []string{"pi-launcher: PreemptionByScheduler"}, phase: "Restarting", reason: "Preempted"}},
		"the launcher was deleted and therefore ended with 143": {launched(), []*corev1.Pod{aPod(job, "pi-launcher", ended(143, 0, ""), deleted(time.Second, 30*time.Second)), w0, w1},
			outcome{phase: "Restarting", reason: "Terminating"}},
		"the launcher failed, backoff": {launched(func(j *v1alpha1.LaunchJob) { j.Spec.RunPolicy = &v1alpha1.RunPolicy{BackoffLimit: 1} }),
			[]*corev1.Pod{aPod(job, "pi-launcher", ended(3, time.Second, "")), w0, w1}, outcome{verdict: "Failed", phase: "Restarting", reason: "PodsMadeAnew"}},
		"backoff: the old pods are removed first": {launched(func(j *v1alpha1.LaunchJob) { j.Status.Attempt = 2 }), []*corev1.Pod{w0, w1},
			outcome{create: []string{"pi-launcher"}, remove: []string{"pi-worker-0", "pi-worker-1"}, phase: "Restarting", reason: "Waiting"}},
		"an idle worker was evicted by its node, and ended with 0": {launched(), []*corev1.Pod{launcher, w0, aPod(job, "pi-worker-1", ended(0, time.Second, ""), evictedByNode(2*time.Second))},
			outcome{record: []string{"pi-worker-1: Evicted"}, phase: "Restarting", reason: "Evicted"}},
		"the launcher succeeded while its node was drained": {launched(), []*corev1.Pod{aPod(job, "pi-launcher", ended(0, time.Second, ""), deleted(2*time.Second, 30*time.Second)), w0, w1},
			outcome{verdict: "Completed", phase: "Succeeded", reason: "Completed"}},
		"past the deadline": {launched(func(j *v1alpha1.LaunchJob) {
			j.Spec.RunPolicy = &v1alpha1.RunPolicy{ActiveDeadlineSeconds: new(int64(60))}
		}), []*corev1.Pod{launcher, w0, w1}, outcome{verdict: "DeadlineExceeded", phase: "Failed", reason: "DeadlineExceeded"}},
		"fewer workers": {launched(func(j *v1alpha1.LaunchJob) { j.Spec.Workers = new(int32(1)) }), []*corev1.Pod{launcher, w0, w1},
			outcome{remove: []string{"pi-worker-1"}, phase: "Running"}},
		"members: three are created": {join, nil, outcome{create: []string{"net-master-0", "net-worker-0", "net-worker-1"}, phase: "Waiting", reason: "Waiting"}},
		"members: one has ended": {join, []*corev1.Pod{member("net-master-0", ended(0, time.Second, "")), member("net-worker-0"), member("net-worker-1")},
			outcome{phase: "Running"}},
		"members: all have ended": {join, []*corev1.Pod{member("net-master-0", ended(0, 0, "")), member("net-worker-0", ended(0, 0, "")), member("net-worker-1", ended(0, 0, ""))},
			outcome{verdict: "Completed", phase: "Succeeded", reason: "Completed"}},
		"members: one has failed just now": {join, []*corev1.Pod{member("net-master-0"), member("net-worker-0", ended(9, time.Second, "")), member("net-worker-1")},
			outcome{phase: "Running"}},
		"members: one has failed, and the others do not end": {join, []*corev1.Pod{member("net-master-0"), member("net-worker-0", ended(9, time.Minute, "")), member("net-worker-1")},
			outcome{verdict: "Failed", phase: "Failed", reason: "Failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := look(tc.job, tc.pods...)
			if len(tc.pods) > 0 && !hasLaunched(tc.job) && got.phase == "Waiting" {
				t.Fatalf("a launched job has the phase Waiting: %+v", got)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func hasLaunched(job *v1alpha1.LaunchJob) bool { return len(job.Status.Conditions) > 0 }

// TestEndOfDisruptedPod checks what the end of a member with 0 means if its pod has a disruption condition.
func TestEndOfDisruptedPod(t *testing.T) {
	job := aJob(t, "join")
	disrupted := func(ago time.Duration, status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: status, Reason: "EvictionByEvictionAPI", LastTransitionTime: metav1.NewTime(now().Add(-ago))}}
		}
	}
	for name, tc := range map[string]struct {
		change []func(*corev1.Pod)
		want   stage
	}{
		"it ended long before":              {[]func(*corev1.Pod){ended(0, time.Minute, ""), disrupted(0, corev1.ConditionTrue)}, done},
		"it ended, and was never deleted":   {[]func(*corev1.Pod){ended(0, time.Minute, ""), disrupted(2*time.Minute, corev1.ConditionTrue)}, lost},
		"it is being deleted":               {[]func(*corev1.Pod){ended(0, time.Minute, ""), disrupted(2*time.Minute, corev1.ConditionTrue), deleted(time.Second, time.Hour)}, going},
		"the disruption did not take place": {[]func(*corev1.Pod){ended(0, time.Minute, ""), disrupted(2*time.Minute, corev1.ConditionFalse), deleted(0, 0)}, done},
	} {
		t.Run(name, func(t *testing.T) {
			places, _ := observe(layout(job), []*corev1.Pod{aPod(job, "net-master-0", tc.change...)}, 1, now())
			require.Equal(t, tc.want, places[0].stage)
		})
	}
}

// TestLostBeforeTheLaunch checks that a lost worker is created again before the launch, even if the
// job allows no restarts.
func TestLostBeforeTheLaunch(t *testing.T) {
	job := aJob(t, "mpi")
	job.Spec.RestartPolicy = nil
	require.Equal(t, []string{"pi-worker-1"}, look(job, aPod(job, "pi-launcher"), aPod(job, "pi-worker-0")).create)
}

// TestQuickJobWasLaunched checks that a job that succeeded before the controller has seen it run
// counts as launched.
func TestQuickJobWasLaunched(t *testing.T) {
	job := aJob(t, "mpi")
	for code, want := range map[int32]bool{0: true, 3: false} {
		b := aBuilder(job)
		sc := scene{now: now()}
		sc.places, _ = observe(b.slots, []*corev1.Pod{aPod(job, "pi-launcher", ended(code, time.Second, ""))}, 1, now())
		sc.verdict = judgeJob(job, sc.places, now())
		require.Equal(t, want, meta.IsStatusConditionTrue(newStatus(job, sc).Conditions, v1alpha1.Launched))
	}
}

func TestFirstFailure(t *testing.T) {
	job := aJob(t, "mpi")
	words := "rank 3 on pi-worker-1 exited with 7 (exit code 7)\nTraceback: boom"
	b := aBuilder(job)
	places, _ := observe(b.slots, []*corev1.Pod{aPod(job, "pi-launcher", ended(7, time.Second, words))}, 1, now())
	v := judgeJob(job, places, now())
	require.Equal(t, &v1alpha1.FirstFailure{Rank: new(int32(3)), Pod: "pi-worker-1", ExitCode: 7, Message: words}, v.first)
	require.Equal(t, "rank 3 on pi-worker-1 exited with 7 (exit code 7)", v.message)
}

func TestCleaning(t *testing.T) {
	job := aJob(t, "mpi")
	over := metav1.NewTime(now().Add(-time.Minute))
	job.Status.CompletionTime, job.Status.Attempt = &over, 1
	pods := []*corev1.Pod{aPod(job, "pi-launcher", ended(0, time.Minute, "")), aPod(job, "pi-worker-0"), aPod(job, "pi-worker-1", ended(0, 0, ""), besideASidecar)}
	for policy, want := range map[string][]string{
		"None": nil, "All": {"pi-launcher", "pi-worker-0", "pi-worker-1"}, "Running": {"pi-worker-0", "pi-worker-1"}, "": {"pi-worker-0", "pi-worker-1"},
	} {
		job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: policy}
		places, surplus := observe(layout(job), pods, 1, now())
		var got []string
		for _, p := range clean(job, places, surplus, now()).remove {
			got = append(got, p.Name)
		}
		require.Equal(t, want, got, policy)
	}
	just := metav1.NewTime(now().Add(-time.Second))
	job.Status.CompletionTime, job.Spec.RunPolicy = &just, nil
	places, surplus := observe(layout(job), pods, 1, now())
	s := clean(job, places, surplus, now())
	require.Empty(t, s.remove, "pods that may still end by themselves are kept")
	require.Equal(t, 14*time.Second, s.look)
}

// TestLogsStay checks that a pod whose own container has ended keeps its log while the kubelet
// stops its native sidecars. The kubelet does not stop an ordinary container, so such a pod is
// removed: it must not occupy the node.
func TestLogsStay(t *testing.T) {
	native := func(p *corev1.Pod) { // the kubelet stops a native sidecar within its grace period
		p.Status.Phase = corev1.PodRunning
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
	for name, tc := range map[string]struct {
		job, pod string
		beside   func(*corev1.Pod)
		code     int32
		policy   string
		removed  bool
	}{
		"launcher, native sidecar":              {job: "mpi", pod: "pi-launcher", beside: native},
		"launcher, ordinary sidecar":            {job: "mpi", pod: "pi-launcher", beside: besideASidecar, removed: true},
		"launcher that failed":                  {job: "mpi", pod: "pi-launcher", beside: native, code: 3},
		"launcher, policy All":                  {job: "mpi", pod: "pi-launcher", beside: native, policy: "All", removed: true},
		"member, native sidecar":                {job: "join", pod: "net-worker-0", beside: native},
		"member, ordinary sidecar":              {job: "join", pod: "net-worker-0", beside: besideASidecar, removed: true},
		"member, ordinary sidecar, policy None": {job: "join", pod: "net-worker-0", beside: besideASidecar, policy: "None"},
		"worker, native sidecar":                {job: "mpi", pod: "pi-worker-0", beside: native},
		"worker, ordinary sidecar":              {job: "mpi", pod: "pi-worker-0", beside: besideASidecar, removed: true},
		"worker, ordinary sidecar, policy None": {job: "mpi", pod: "pi-worker-0", beside: besideASidecar, policy: "None"},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, tc.job)
			over := metav1.NewTime(now().Add(-time.Hour))
			job.Status.CompletionTime, job.Status.Attempt = &over, 1
			job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: tc.policy}
			places, surplus := observe(layout(job), []*corev1.Pod{aPod(job, tc.pod, ended(tc.code, time.Hour, ""), tc.beside)}, 1, now())
			require.Equal(t, tc.removed, len(clean(job, places, surplus, now()).remove) > 0)
		})
	}
}

// TestInitContainerFailed checks that a pod whose own container never started also has a cause,
// which becomes the job's message.
func TestInitContainerFailed(t *testing.T) {
	pod := aPod(aJob(t, "mpi"), "pi-launcher")
	pod.Spec.InitContainers = []corev1.Container{{Name: "code-sync"}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{{Name: "code-sync", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "Error", Message: "fatal: no such branch"}}}}}
	p := place{slot: slot{name: "pi-launcher", role: "launcher", rank: -1}, main: "main", pod: pod}
	p.judge(now())
	v := p.verdict()
	require.True(t, v.over)
	require.Contains(t, v.message, "code-sync")
	require.Contains(t, v.first.Message, "no such branch")
}
