package jobs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/fakekube"
)

// newWire returns an API server with one job, and an API that uses it.
func newWire(t *testing.T, job *v1alpha1.LaunchJob) (*fakekube.Server, *fakekube.Objects, *fakekube.Logs, *API) {
	s, logs := fakekube.New(t), fakekube.NewLogs()
	jobs := s.Serve(v1alpha1.Version().String(), v1alpha1.Kind, "launchjobs")
	s.Handle(fakekube.LogPath, logs)
	jobs.Put(job)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, namespace: ns}}]\ncurrent-context: c\n", s.URL())
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	api, err := Open(Where{Kubeconfig: config})
	require.NoError(t, err)
	return s, jobs, logs, api
}

func talker(i int, state corev1.ContainerState) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main"}}}}
	p.Name, p.Namespace = fmt.Sprintf("talk-worker-%d", i), "ns"
	p.Labels = map[string]string{names.LabelJob: "talk", names.LabelPod: p.Name, names.LabelRole: names.RoleWorker, names.LabelIndex: fmt.Sprint(i)}
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
	return p
}

// TestLogsOnTheWire follows two pods over connections that are cut after a random number of bytes,
// cleanly or not, while the pods write and the API server stops and starts.
func TestLogsOnTheWire(t *testing.T) {
	const lines = 400
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	s, objects, logs, api := newWire(t, job)
	random, guard := rand.New(rand.NewPCG(9, 9)), sync.Mutex{}
	cuts := 0
	logs.CutAfter(func() (int, bool) {
		guard.Lock()
		defer guard.Unlock()
		cuts++
		return 1 + random.IntN(3500), cuts%2 == 0
	})
	got, reading, over := map[string][]string{}, sync.NewCond(&sync.Mutex{}), false
	l := Logs{API: api, Job: "talk", Follow: true, Say: t.Logf, Emit: func(line Line) error {
		reading.L.Lock()
		defer reading.L.Unlock()
		got[line.Pod] = append(got[line.Pod], string(line.Text))
		reading.Broadcast()
		return nil
	}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for i := range 2 {
		s.Set(talker(i, running))
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := range lines {
			for i := range 2 {
				end := "\n"
				if n == lines-1 {
					end = ""
				}
				at := somewhen.Add(time.Duration(n) * 100 * time.Millisecond)
				logs.Write("ns", fmt.Sprintf("talk-worker-%d", i), "main", at, fmt.Sprintf("line %d%s", n, end))
			}
			reading.L.Lock()
			for !over && min(len(got["worker-0"]), len(got["worker-1"])) < n-20 { // the writer waits until the readers are close behind
				reading.Wait()
			}
			reading.L.Unlock()
			if n == lines/2 {
				s.Stop()
				s.Start()
			}
		}
		for i := range 2 {
			logs.End("ns", fmt.Sprintf("talk-worker-%d", i), "main")
			s.Set(talker(i, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}))
		}
		job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.Succeeded, Status: metav1.ConditionTrue}}
		var now v1alpha1.LaunchJob
		objects.Get("ns", "talk", &now)
		job.UID = now.UID
		objects.Put(job)
	})
	err := l.Run(t.Context())
	reading.L.Lock()
	over = true
	reading.L.Unlock()
	reading.Broadcast()
	writing.Wait()
	require.NoError(t, err)
	var want []string
	for n := range lines {
		want = append(want, fmt.Sprintf("line %d", n))
	}
	require.Equal(t, map[string][]string{"worker-0": want, "worker-1": want}, got)
	require.Greater(t, cuts, 10)
	t.Logf("%d connections", cuts)
}

// TestTalkingPod checks that without --follow, a container that keeps writing does not keep the
// reader from ending.
func TestTalkingPod(t *testing.T) {
	s, _, logs, api := newWire(t, &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}})
	s.Set(talker(0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}))
	logs.Write("ns", "talk-worker-0", "main", somewhen, "first\n")
	n := 0
	logs.CutAfter(func() (int, bool) {
		n++
		logs.Write("ns", "talk-worker-0", "main", somewhen, fmt.Sprintf("line %d\n", n))
		return 0, false
	})
	var got []string
	l := Logs{API: api, Job: "talk", Say: t.Logf, Emit: func(line Line) error {
		got = append(got, string(line.Text))
		return nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, l.Run(ctx))
	require.NoError(t, ctx.Err())
	require.Equal(t, []string{"first", "line 1", "line 2"}, got)
}

// TestFollowingALauncherListsNoWorkers checks that following a launcher's log lists only the launcher's pod. A job
// can have 10,000 workers.
func TestFollowingALauncherListsNoWorkers(t *testing.T) {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	job.Spec.Launcher = &v1alpha1.Launcher{}
	s, objects, logs, api := newWire(t, job)
	launcher := talker(0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	launcher.Name = "talk-launcher"
	launcher.Labels = map[string]string{names.LabelJob: "talk", names.LabelPod: launcher.Name, names.LabelRole: names.RoleLauncher}
	s.Set(launcher)
	s.Set(talker(0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}))
	logs.Write("ns", "talk-launcher", "main", somewhen, "first\n")
	l := Logs{API: api, Job: "talk", Follow: true, Say: t.Logf, Emit: func(line Line) error {
		require.Equal(t, "first", string(line.Text))
		job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.Succeeded, Status: metav1.ConditionTrue}}
		objects.Put(job)
		launcher.Status.Phase = corev1.PodSucceeded
		s.Set(launcher)
		logs.End("ns", "talk-launcher", "main")
		return nil
	}}
	require.NoError(t, l.Run(t.Context()))
	lists := 0
	for _, r := range s.Requests() {
		query, err := url.ParseQuery(r.Query)
		require.NoError(t, err)
		if selector, err := labels.Parse(query.Get("labelSelector")); r.Path == "/api/v1/namespaces/ns/pods" && err == nil {
			lists++
			require.False(t, selector.Matches(labels.Set(talker(0, corev1.ContainerState{}).Labels)), r.Query)
		}
	}
	require.Positive(t, lists)
}

// TestFollowEndsWithTheWatch checks that an error that ends the watch of the job also ends the
// reading of its pods.
func TestFollowEndsWithTheWatch(t *testing.T) {
	s, _, logs, api := newWire(t, &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}})
	s.Set(talker(0, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}))
	logs.Write("ns", "talk-worker-0", "main", somewhen, "first\n")
	l := Logs{API: api, Job: "talk", Follow: true, Say: t.Logf, Emit: func(Line) error {
		s.Fail(fakekube.Failure{Code: 422, Match: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/launchjobs/talk") }})
		return nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.Error(t, l.Run(ctx))
	require.NoError(t, ctx.Err())
}

// TestRestartedContainerIsFollowed checks that a container that its kubelet restarts in its pod, as
// restartPolicyRules allow, is followed into its next run. Each line comes once, and so does the last line
// of the first run, which has no newline. Its end is seen, or that the kubelet waits before it restarts it.
func TestRestartedContainerIsFollowed(t *testing.T) {
	running, failed := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	for tail, between := range map[int]corev1.ContainerState{0: failed, 10: waiting} {
		s, objects, logs, api := newWire(t, job)
		pod := func(run int32, state, last corev1.ContainerState) {
			p := talker(0, state)
			p.Spec.Containers[0].RestartPolicy = new(corev1.ContainerRestartPolicyOnFailure)
			p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState = run, last
			s.Set(p)
		}
		pod(0, running, corev1.ContainerState{})
		logs.Write("ns", "talk-worker-0", "main", somewhen, "first\n")
		logs.Write("ns", "talk-worker-0", "main", somewhen, "last words")
		var got []string
		l := Logs{API: api, Job: "talk", Follow: true, Tail: tail, Say: t.Logf, Emit: func(line Line) error {
			got = append(got, string(line.Text))
			switch string(line.Text) {
			case "first":
				logs.End("ns", "talk-worker-0", "main")
				pod(0, between, failed)
			case "last words":
				logs.Restart("ns", "talk-worker-0", "main")
				logs.Write("ns", "talk-worker-0", "main", somewhen.Add(time.Second), "second\n")
				pod(1, running, failed)
			case "second":
				logs.End("ns", "talk-worker-0", "main")
				pod(1, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}, failed)
				over := job.DeepCopy()
				over.Status.Conditions = []metav1.Condition{{Type: v1alpha1.Succeeded, Status: metav1.ConditionTrue}}
				objects.Put(over)
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, l.Run(ctx))
		require.Equal(t, []string{"first", "last words", "second"}, got)
	}
}

// TestALogIsSettledTwice checks that a last line without a newline is passed on once, although a container that
// has ended may be looked at again before its kubelet starts it.
func TestALogIsSettledTwice(t *testing.T) {
	s, got := read(&paperLog{lines: sample()}, time.Time{}, 0)
	require.NoError(t, s.settle(t.Context()))
	require.NoError(t, s.settle(t.Context()))
	require.Equal(t, texts(sample()), *got)
}
