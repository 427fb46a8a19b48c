//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func withWorkers(n int32) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.Workers = &n }
}

func withRunPolicy(p v1alpha1.RunPolicy) func(*v1alpha1.LaunchJob) {
	return func(j *v1alpha1.LaunchJob) { j.Spec.RunPolicy = &p }
}

// TestLaunchJob: 20 workers, from one object to the end, with what people type.
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
	require.NotContains(t, role, "launcher", "nobody execs into the launcher")
	s.kubectl("wait", "--for=condition=Succeeded", "launchjob/pi", "--timeout=55s")
	t.Logf("apply to Succeeded, 20 workers: %.1f s", time.Since(began).Seconds())
	s.recordRequests(began)
	status := s.lj("pi").Status
	require.Equal(t, "20/20", status.Ready)
	require.EqualValues(t, 1, status.Attempt)
	require.NotEmpty(t, status.Agent.Images)
	require.Equal(t, each(20, 2), ranksPerWorker(t, s.logs("pi-launcher"), job{name: "pi", workers: 20}))
	s.logs("pi-worker-3")
	columns := s.kubectl("get", "lj")
	require.Regexp(t, `(?m)^NAME +READY +PHASE +REASON +ATTEMPT +AGE$`, columns)
	require.Regexp(t, `(?m)^pi +20/20 +Succeeded +Completed +1 +\S+$`, columns)
	require.Len(t, s.pods(), 21)
	require.Eventually(t, func() bool { return mayExec() == "" }, 20*time.Second, 200*time.Millisecond, "the Role outlives the job")

	s.kubectl("delete", "lj", "pi", "--wait")
	require.Eventually(t, func() bool {
		return strings.TrimSpace(s.kubectl("get", "pod,service,role,rolebinding,serviceaccount", "-l", "muster.dev/job=pi", "-o", "name")) == ""
	}, 40*time.Second, time.Second, "children stay")
}

// TestLaunchJobReasons: what is in a job's way stands in kubectl get lj, and
// goes away with its cause.
func TestLaunchJobReasons(t *testing.T) {
	s := newSpace(t)
	s.apply(map[string]any{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": "few"},
		"spec": map[string]any{"hard": map[string]string{"pods": "3"}}})
	withController(t)
	began := time.Now()
	s.launch(launchJob(t, "five", []string{"mpirun", "/opt/muster-test/hello"}, withWorkers(4)))
	status := s.becomes("five", 15*time.Second, "refused by the quota", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "Rejected" })
	t.Logf("the quota was the reason after %.1f s: %s", time.Since(began).Seconds(), status.Message)
	require.LessOrEqual(t, time.Since(began), 10*time.Second)
	t.Parallel() // not before: the bar is the controller's, not that of a machine full of other tests' pods
	require.Contains(t, status.Message, "exceeded quota: few")
	require.Len(t, s.pods(), 3)
	s.kubectl("patch", "resourcequota", "few", "--type=merge", "-p", `{"spec":{"hard":{"pods":"10"}}}`)
	s.becomes("five", 60*time.Second, "over", inPhase(v1alpha1.PhaseSucceeded))

	s.launch(launchJob(t, "img", []string{"mpirun", "/opt/muster-test/hello"}, func(j *v1alpha1.LaunchJob) {
		j.Spec.Roles[0].Template.Spec.Containers[0].Image = "localhost/muster-none:dev"
	}))
	s.becomes("img", 30*time.Second, "ImagePull", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "ImagePull" })
	require.Regexp(t, `(?m)^img +0/2 +Waiting +ImagePull +1 `, s.kubectl("get", "lj"))
	s.kubectl("delete", "lj", "img", "--wait=false")

	s.apply(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "ours"},
		"spec": map[string]any{"ports": []any{map[string]any{"port": 80}}}})
	s.launch(launchJob(t, "ours", []string{"true"}))
	status = s.becomes("ours", 20*time.Second, "NameTaken", func(s v1alpha1.LaunchJobStatus) bool { return s.Reason == "NameTaken" })
	require.Contains(t, status.Message, "there is a Service ours that is not this job's")
	s.kubectl("delete", "service", "ours")
	s.kubectl("wait", "--for=condition=Launched", "lj/ours", "--timeout=50s")
}

// TestLaunchJobRuns: suspend and resume, deadline, time to live, the policies of cleaning.
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
	require.Eventually(t, func() bool { return len(s.podsOf("late")) == 0 }, time.Minute, time.Second, "pods after the deadline")
	require.Eventually(t, func() bool {
		return !strings.Contains(s.kubectl("get", "lj", "-o", "name"), "/gone")
	}, time.Minute, time.Second, "the job lives for ever")
	require.Eventually(t, func() bool { return len(s.podsOf("all")) == 0 }, time.Minute, time.Second, "All")
	require.Eventually(t, func() bool { return len(s.podsOf("running")) == 0 }, time.Minute, time.Second, "Running: their sidecars go on")
	require.Len(t, s.podsOf("none"), 3)
}

// endlessSidecar: the container beside the role's own never ends.
func endlessSidecar(j *v1alpha1.LaunchJob) {
	for _, t := range []*corev1.PodTemplateSpec{&j.Spec.Launcher.Template, &j.Spec.Roles[0].Template} {
		side := *t.Spec.Containers[0].DeepCopy()
		side.Name, side.Command = "side", []string{"sleep", "3600"}
		t.Spec.Containers = append(t.Spec.Containers, side)
	}
}

// podsOf names the pods of a job that are not being deleted.
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

// TestLaunchJobHeals: children that somebody deletes come back, and a controller
// that is killed in mid-job goes on.
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

// TestManyLaunchJobs: 20 at once.
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
