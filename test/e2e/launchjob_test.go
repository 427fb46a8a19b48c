//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
)

func withWorkers(n int32) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.Workers = &n }
}

func withRunPolicy(p v1alpha1.RunPolicy) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.RunPolicy = &p }
}

// TestLaunchJob runs a job of 20 workers from one object to its end, with the commands that users type.
func TestLaunchJob(t *testing.T) {
	s := newSpace(t)
	withController(t)
	began := time.Now()
	s.launch(launchJob(t, "pi", []string{"mpirun", "/opt/muster-test/hello"}, withWorkers(20),
		withRunPolicy(v1alpha1.RunPolicy{CleanPodPolicy: "None"})))
	mayExec := func() string {
		out, _ := s.try(time.Minute, "get", "role", "pi-launcher", "--ignore-not-found", "-o", "jsonpath={.rules[?(@.resources[0]==\"pods/exec\")].resourceNames}")
		return out
	}
	role := ""
	require.Eventually(t, func() bool { role = mayExec(); return strings.Contains(role, `"pi-worker-19"`) }, 30*time.Second, 100*time.Millisecond)
	require.NotContains(t, role, "launcher", "the Role must not allow exec into the launcher")
	s.kubectl("wait", "--for=condition=Succeeded", "launchjob/pi", "--timeout=55s")
	t.Logf("apply to Succeeded, 20 workers: %.1f s", time.Since(began).Seconds())
	s.recordRequests(began)
	status := s.lj("pi").Status
	require.Equal(t, "20/20", status.Ready)
	require.EqualValues(t, 1, status.Attempt)
	require.NotEmpty(t, status.Agent.Images)
	require.Regexp(t, `^\d+\.\d%$`, status.Goodput)
	require.Contains(t, fmt.Sprint(status.Spent), "productive")
	require.Equal(t, each(20, 2), ranksPerWorker(t, s.logs("pi-launcher"), job{name: "pi", workers: 20}))
	s.logs("pi-worker-3")
	columns := s.kubectl("get", "lj")
	require.Regexp(t, `(?m)^NAME +READY +PHASE +PROGRESS +REASON +ATTEMPT +AGE$`, columns)
	require.Regexp(t, `(?m)^pi +20/20 +Succeeded +Completed +1 +\S+$`, columns)
	require.Regexp(t, `(?m)^NAME +READY +PHASE +PROGRESS +REASON +ATTEMPT +AGE +GOODPUT +MESSAGE$`, s.kubectl("get", "lj", "-o", "wide"))
	require.Len(t, s.pods(), 21)
	require.Eventually(t, func() bool { return mayExec() == "" }, 20*time.Second, 200*time.Millisecond, "the Role must not outlive the job")

	s.kubectl("delete", "lj", "pi", "--wait")
	require.Eventually(t, func() bool {
		return strings.TrimSpace(s.kubectl("get", "pod,service,role,rolebinding,serviceaccount", "-l", "muster.dev/job=pi", "-o", "name")) == ""
	}, 40*time.Second, time.Second, "children stay")
}

// TestLaunchJobQuota checks that a quota becomes the job's reason soon, and that the job continues when there is
// room. It runs alone on the machine: the bar is for the controller, not for a machine full of other tests' pods.
func TestLaunchJobQuota(t *testing.T) {
	s := newSpace(t)
	s.apply(map[string]any{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": "few"},
		"spec": map[string]any{"hard": map[string]string{"pods": "3"}}})
	withController(t)
	began := time.Now()
	s.launch(launchJob(t, "five", []string{"mpirun", "/opt/muster-test/hello"}, withWorkers(4)))
	status := s.becomes("five", 15*time.Second, "refused by the quota", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "Rejected" })
	t.Logf("the quota was the reason after %.1f s: %s", time.Since(began).Seconds(), status.Message)
	require.LessOrEqual(t, time.Since(began), 10*time.Second)
	require.Contains(t, status.Message, "exceeded quota: few")
	require.Len(t, s.pods(), 3)
	s.kubectl("patch", "resourcequota", "few", "--type=merge", "-p", `{"spec":{"hard":{"pods":"10"}}}`)
	s.becomes("five", 60*time.Second, "over", inPhase(v1alpha1.PhaseSucceeded))
}

// TestLaunchJobReasons checks that kubectl get lj shows the reason why a job does not run, and that the reason
// disappears with its cause.
func TestLaunchJobReasons(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "img", []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Roles[0].Template.Spec.Containers[0].Image = "localhost/muster-none:dev"
	}))
	s.becomes("img", 30*time.Second, "ImagePull", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "ImagePull" })
	require.Regexp(t, `(?m)^img +0/2 +Waiting +ImagePull +1 `, s.kubectl("get", "lj"))
	s.kubectl("delete", "lj", "img", "--wait=false")

	s.apply(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "ours"},
		"spec": map[string]any{"ports": []any{map[string]any{"port": 80}}}})
	s.launch(launchJob(t, "ours", []string{"true"}))
	status := s.becomes("ours", 20*time.Second, "NameTaken", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "NameTaken" })
	require.Contains(t, status.Message, "Service ours exists and does not belong to this job")
	s.kubectl("delete", "service", "ours")
	s.kubectl("wait", "--for=condition=Launched", "lj/ours", "--timeout=50s")
}

// TestLaunchJobRuns checks suspend and resume, the deadline, the time to live, and the policies for cleaning pods.
func TestLaunchJobRuns(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	hello, sleep := []string{"mpirun", "/opt/muster-test/hello"}, []string{"mpirun", "sleep", "600"}
	s.launch(
		launchJob(t, "held", hello, withRunPolicy(v1alpha1.RunPolicy{Suspend: true})),
		launchJob(t, "late", sleep, withRunPolicy(v1alpha1.RunPolicy{ActiveDeadlineSeconds: new(int64(15)), CleanPodPolicy: "None"})),
		launchJob(t, "gone", hello, withRunPolicy(v1alpha1.RunPolicy{TTLSecondsAfterFinished: new(int32(3))})),
		launchJob(t, "all", hello, withRunPolicy(v1alpha1.RunPolicy{CleanPodPolicy: "All"})),
		launchJob(t, "none", hello, withRunPolicy(v1alpha1.RunPolicy{CleanPodPolicy: "None"}), endlessSidecar),
		launchJob(t, "running", hello, endlessSidecar),
		launchJob(t, "seven", []string{"mpirun", "sh", "-c", "[ $OMPI_COMM_WORLD_RANK != 3 ] || exit 7"}),
	)
	s.becomes("held", 20*time.Second, "suspended", inPhase(v1alpha1.PhaseSuspended))
	require.Empty(t, s.podsOf("held"))
	s.kubectl("patch", "lj", "held", "--type=merge", "-p", `{"spec":{"runPolicy":{"suspend":false}}}`)
	s.becomes("held", time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))

	for _, name := range []string{"all", "none", "running"} {
		s.becomes(name, time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	}
	status := s.becomes("seven", time.Minute, "over", inPhase(v1alpha1.PhaseFailed))
	require.EqualValues(t, 7, status.FirstFailure.ExitCode)
	status = s.becomes("late", time.Minute, "over", inPhase(v1alpha1.PhaseFailed))
	require.Equal(t, "DeadlineExceeded", status.Reason)
	require.Eventually(t, func() bool { return len(s.podsOf("late")) == 0 }, time.Minute, time.Second, "no pod may be left after the deadline")
	require.Eventually(t, func() bool {
		return !strings.Contains(s.kubectl("get", "lj", "-o", "name"), "/gone")
	}, time.Minute, time.Second, "the job must be deleted")
	require.Eventually(t, func() bool { return len(s.podsOf("all")) == 0 }, time.Minute, time.Second, "All")
	require.Eventually(t, func() bool { return len(s.podsOf("running")) == 0 }, time.Minute, time.Second, "policy Running: pods with running sidecars must be deleted")
	require.Len(t, s.podsOf("none"), 3)
}

// endlessSidecar adds a container that never ends to each role.
func endlessSidecar(j *v1alpha1.LaunchJob) {
	for _, t := range []*corev1.PodTemplateSpec{&j.Spec.Launcher.Template, &j.Spec.Roles[0].Template} {
		side := *t.Spec.Containers[0].DeepCopy()
		side.Name, side.Command = "side", []string{"sleep", "3600"}
		t.Spec.Containers = append(t.Spec.Containers, side)
	}
}

// podsOf returns the names of a job's pods, except pods that are being deleted.
func (s *space) podsOf(name string) []string {
	s.t.Helper()
	var list corev1.PodList
	s.read(&list, "get", "pods", "-l", "muster.dev/job="+name)
	var names []string
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// TestLaunchJobHeals deletes children, which come back, and kills the controller in the middle of a job, which
// continues.
func TestLaunchJobHeals(t *testing.T) {
	s := newSpace(t)
	s.launch(launchJob(t, "heal", []string{"sh", "-c", "sleep 20; mpirun /opt/muster-test/hello"}))
	s.becomes("heal", 30*time.Second, "running", inPhase(v1alpha1.PhaseRunning))
	s.kubectl("delete", "service/heal", "role/heal-launcher", "rolebinding/heal-launcher")
	system := kubectlCall{namespace: controllerNamespace}
	_, err := system.run("delete", "pods", "-l", "app.kubernetes.io/name=muster-controller", "--force", "--grace-period=0", "--wait=false")
	require.NoError(t, err)
	status := s.becomes("heal", 90*time.Second, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.EqualValues(t, 1, status.Attempt)
	for _, child := range []string{"service/heal", "role/heal-launcher", "rolebinding/heal-launcher", "serviceaccount/heal-launcher"} {
		s.kubectl("get", child)
	}
	require.Len(t, s.podsOf("heal"), 3)
}

// TestManyLaunchJobs runs 20 jobs at once.
func TestManyLaunchJobs(t *testing.T) {
	s := newSpace(t)
	var jobs []*v1alpha1.LaunchJob
	for i := range 20 {
		jobs = append(jobs, launchJob(t, fmt.Sprintf("many-%d", i), []string{"mpirun", "/opt/muster-test/hello"}, withWorkers(1)))
	}
	began := time.Now()
	s.launch(jobs...)
	for _, j := range jobs {
		s.becomes(j.Name, 3*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	}
	t.Logf("20 jobs of 2 pods: %.1f s", time.Since(began).Seconds())
}

// checkpointed is a launcher's command that waits in its first attempt. In the next attempt it finds the file that
// the first one wrote.
var checkpointed = []string{"sh", "-c", `if [ -e /tmp/checkpoint ]; then echo "attempt $MUSTER_ATTEMPT finds it"; exec mpirun /opt/muster-test/hello; fi
echo kept >/tmp/checkpoint; exec mpirun sh -c 'echo waits; sleep 600'`}

func withRestarts(n int32) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxRestarts: n} }
}

// TestLaunchJobRecovers deletes a worker's pod in one job and evicts one in another. The controller replaces the
// pods, and the launcher restarts in place. The eviction does not count as a restart, and only one restart is
// allowed.
func TestLaunchJobRecovers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "deleted", checkpointed, withRestarts(1)), launchJob(t, "evicted", checkpointed, withRestarts(1)))
	for name, take := range map[string]func(pod string){
		"deleted": func(pod string) { s.kubectl("delete", "pod", pod, "--force", "--grace-period=0", "--wait=false") },
		"evicted": s.evict,
	} {
		l := s.follow(name + "-launcher")
		l.until(2*time.Minute, "waits")
		uid := s.pod(name + "-worker-1").UID
		struck := time.Now()
		take(name + "-worker-1")
		l.until(90*time.Second, "attempt 1 finds it")
		t.Logf("%s: %.1f s to the next attempt's first line", name, time.Since(struck).Seconds())
		s.becomes(name, time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
		require.NotEqual(t, uid, s.pod(name+"-worker-1").UID)
		// A pod that is deleted by force counts as a restart, unless its worker could still report that it was told
		// to stop.
		log := s.logs(name + "-launcher")
		told := name == "evicted" || strings.Contains(log, name+"-worker-1 was told to stop from outside")
		require.Equal(t, told, strings.Contains(log, "this does not count as a restart"))
	}
}

// TestLaunchJobLosesANode powers off the node of its workers. Nothing confirms the end of their pods, so these keep
// their names. The replacements have other names, on the remaining node.
func TestLaunchJobLosesANode(t *testing.T) {
	s := newSpace(t)
	s.launch(launchJob(t, "lost", checkpointed, withRestarts(2), func(j *v1alpha1.LaunchJob) {
		j.Spec.Launcher.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node1"}
		j.Spec.Roles[0].Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{faultNode}}},
			}}},
		}}
	}))
	l := s.follow("lost-launcher")
	l.until(2*time.Minute, "waits")
	require.Equal(t, faultNode, s.pod("lost-worker-1").Spec.NodeName)
	t.Cleanup(func() { cluster(t, "node", "on", faultNode) })
	struck := time.Now()
	cluster(t, "node", "off", faultNode)
	l.until(2*time.Minute, "attempt 1 finds it")
	took := time.Since(struck).Seconds()
	status := s.becomes("lost", time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.EqualValues(t, 0, status.Replacements, "a lost node must not count as a replacement")
	for _, r := range status.Replaced {
		require.Equal(t, []string{faultNode, "lost"}, []string{r.Node, r.Cause})
	}
	require.Empty(t, status.ExcludedNodes, "pods that are lost together are one failure of the node")
	require.Equal(t, "node1", s.pod("lost-worker-1-r1").Spec.NodeName)
	const name = "LaunchJob: from a node's loss to the next attempt's first line"
	record(t, figure.Row{Name: name, Op: "<=", Bar: 90}, map[string]figure.Series{name: {Unit: "s", Reduce: "max", Samples: []float64{took}}})
}

// TestLaunchJobScales scales a running elastic job with kubectl scale.
func TestLaunchJobScales(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(launchJob(t, "elastic", []string{"sh", "-c", `echo "rank $RANK of $WORLD_SIZE"; [ $WORLD_SIZE = 1 ] || sleep 600`}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Framework, j.Spec.Elastic = "plain", &v1alpha1.Elastic{Min: 1, Max: 3}
	}))
	l := s.follow("elastic-launcher")
	l.until(2*time.Minute, "0: rank 0 of 2")
	s.kubectl("scale", "lj/elastic", "--replicas=3")
	l.until(time.Minute, "0: rank 0 of 3")
	s.kubectl("scale", "lj/elastic", "--replicas=1")
	l.until(time.Minute, "0: rank 0 of 1")
	s.becomes("elastic", time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	_, err := s.try(time.Minute, "scale", "lj/elastic", "--replicas=4")
	require.ErrorContains(t, err, "workers must be between elastic.min and elastic.max")
}

// members returns a job without a launcher: one Master and two Workers.
func members(t *testing.T, name, script string, change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
	job := launchJob(t, name, nil)
	job.Spec.Framework, job.Spec.Launcher, job.Spec.Slots = "plain", nil, 1
	worker := job.Spec.Roles[0]
	worker.Template.Spec.Containers[0].Command = []string{"sh", "-c", script}
	master := *worker.DeepCopy()
	master.Name = "master"
	job.Spec.Roles = []v1alpha1.Role{master, worker}
	for _, f := range change {
		f(job)
	}
	return job
}

// TestLaunchJobMembers runs jobs with exactly three pods. A killed rank is restarted with the others, in their
// pods. A rank that fails permanently is named.
func TestLaunchJobMembers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.launch(
		members(t, "meet", `echo "rank $RANK of $WORLD_SIZE at $MASTER_ADDR"`),
		// The kubelet replaces two dollar signs with one.
		members(t, "again", `echo "attempt $MUSTER_ATTEMPT"; [ $RANK.$MUSTER_ATTEMPT != 2.0 ] || kill -KILL $$$$; sleep 1`, withRestarts(1)),
		members(t, "fails", `[ $RANK != 1 ] || { echo no data >&2; exit 7; }; sleep 600`),
	)
	s.becomes("meet", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.ElementsMatch(t, []string{"meet-master-0", "meet-worker-0", "meet-worker-1"}, s.podsOf("meet"))
	for rank, pod := range []string{"meet-master-0", "meet-worker-0", "meet-worker-1"} {
		require.Contains(t, s.logs(pod), fmt.Sprintf("rank %d of 3 at ", rank))
	}
	s.becomes("again", 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
	for _, pod := range s.podsOf("again") {
		require.Contains(t, s.logs(pod), "attempt 1")
		require.Zero(t, s.pod(pod).Status.ContainerStatuses[0].RestartCount)
	}
	status := s.becomes("fails", 2*time.Minute, "over", inPhase(v1alpha1.PhaseFailed))
	require.EqualValues(t, 7, status.FirstFailure.ExitCode)
	require.EqualValues(t, 1, *status.FirstFailure.Rank)
	require.Equal(t, "fails-worker-0", status.FirstFailure.Pod)
	require.Contains(t, status.FirstFailure.Message, "no data\n")
}

// TestLaunchJobReports checks that a hang, and a restart in the same pods, appear in the conditions while they
// last, with the launcher's message, and as Warning events.
func TestLaunchJobReports(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	// Longer than the period of the probe, which must find the launcher ready once.
	hanging := func(j *v1alpha1.LaunchJob) { j.Spec.HangAfter = new(v1alpha1.Time("15s")) }
	for name, want := range map[string]struct {
		kind, reason, words, line string
		change                    func(*v1alpha1.LaunchJob)
	}{
		"hangs": {v1alpha1.Stalled, "Hang", "sh seems to hang: for 15 s nothing was printed", "sleep 80", hanging},
		"again": {v1alpha1.Restarting, "Restarted", "attempt 2 of 2", "sleep 15; [ $MUSTER_ATTEMPT != 0 ] || exit 137; sleep 30", withRestarts(1)},
	} {
		s.launch(launchJob(t, name, []string{"sh", "-c", want.line}, want.change))
		status := s.becomes(name, 2*time.Minute, want.kind, func(status v1alpha1.LaunchJobStatus) bool {
			c := meta.FindStatusCondition(status.Conditions, want.kind)
			return c != nil && c.Status == metav1.ConditionTrue && c.Reason == want.reason && status.Phase == v1alpha1.PhaseRunning
		})
		require.Contains(t, status.Message, want.words)
		require.Contains(t, s.kubectl("get", "events", "--field-selector", "type=Warning,reason="+want.reason+",involvedObject.name="+name), want.words)
		status = s.becomes(name, 2*time.Minute, "over", inPhase(v1alpha1.PhaseSucceeded))
		require.False(t, meta.IsStatusConditionTrue(status.Conditions, want.kind))
	}
}

// TestLaunchJobOutlivesTheAPIServer kills the API server while the job runs.
func TestLaunchJobOutlivesTheAPIServer(t *testing.T) {
	s := newSpace(t)
	s.launch(launchJob(t, "outage", []string{"mpirun", "sh", "-c", "echo waits; sleep 15; exec /opt/muster-test/hello"}))
	s.follow("outage-launcher").until(2*time.Minute, "waits")
	cluster(t, "apiserver", "restart-after", outagePause)
	status := s.becomes("outage", 90*time.Second, "over", inPhase(v1alpha1.PhaseSucceeded))
	require.EqualValues(t, 1, status.Attempt)
	require.Equal(t, each(2, 2), ranksPerWorker(t, s.logs("outage-launcher"), job{name: "outage", workers: 2}))
}
