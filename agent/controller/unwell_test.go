//go:build !e2e

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// asked sets the result of a running launcher's readiness probe: success, or failure since the
// given time.
func asked(well bool, since time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Status.ContainerStatuses[0]
		c.Ready, c.State.Running = well, &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now().Add(-time.Hour))}
		status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[well]
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(now().Add(-since))})
	}
}

// TestWhatTheLauncherReports checks that a hang, a stall or a restart is in the conditions while it
// lasts, and is one Warning event. Without the right to read events the report is less exact.
func TestWhatTheLauncherReports(t *testing.T) {
	const hang, again, ready = "mpirun seems to hang: for 600 s nothing was printed", "attempt 2 of 3: rank 1 was killed by SIGKILL", "agent: ready: "
	for name, tc := range map[string]struct {
		since             time.Duration
		said              string
		unread            bool
		kind, reason, has string
	}{
		"a hang":                          {time.Second, ready + hang, false, v1alpha1.Stalled, "Hang", hang},
		"no progress":                     {time.Second, ready + "no progress: the number of expect 'step (\\d+)' has not grown", false, v1alpha1.Stalled, "NoProgress", "no progress: the number of expect 'step (\\d+)' has not grown"},
		"a failed line":                   {time.Second, ready + "failed line: fail-on 'nan' matched a line of rank 3: loss=nan", false, v1alpha1.Stalled, "NoProgress", "failed line: fail-on 'nan' matched a line of rank 3: loss=nan"},
		"a hang, as JSON":                 {time.Second, `{"level":"error","msg":"ready: ` + hang + `"}`, false, v1alpha1.Stalled, "Hang", hang},
		"a restart":                       {time.Second, ready + again, false, v1alpha1.Restarting, "Restarted", again},
		"no right to read events":         {time.Second, "", true, v1alpha1.Stalled, "Hang", "pi-launcher reports a hang, no progress or a restart"},
		"an event that never arrives":     {time.Minute, "", false, v1alpha1.Stalled, "Hang", "pi-launcher reports a hang, no progress or a restart"},
		"an event that may still arrive":  {time.Second, "", false, "", "", ""},
		"a launcher that was never ready": {2 * time.Hour, ready + hang, false, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, "mpi")
			recorder := events.NewFakeRecorder(10)
			ready := func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = true }
			look := func(launcher *corev1.Pod) {
				b, sc := aBuilder(job), scene{now: now(), unread: tc.unread}
				if tc.said != "" {
					sc.events = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: launcher.UID}, Message: "Readiness probe failed: " + tc.said + "\n"}}
				}
				sc.places, _ = observe(b.slots, []*corev1.Pod{launcher, aPod(job, "pi-worker-0", ready), aPod(job, "pi-worker-1", ready)}, b.attempt, sc.now)
				old := job.Status
				job.Status = newStatus(job, sc)
				(&Reconciler{Events: recorder}).tell(job, old, job.Status, scene{})
			}
			look(aPod(job, "pi-launcher", asked(true, time.Hour)))
			require.Equal(t, v1alpha1.PhaseRunning, job.Status.Phase)
			<-recorder.Events // Running
			look(aPod(job, "pi-launcher", asked(false, tc.since)))
			before := *job.Status.DeepCopy()
			look(aPod(job, "pi-launcher", asked(false, tc.since)))
			require.Equal(t, before, job.Status, "a status that does not change is not written again")
			require.Equal(t, v1alpha1.PhaseRunning, job.Status.Phase)
			require.Equal(t, tc.reason, job.Status.Reason)
			for _, kind := range []string{v1alpha1.Stalled, v1alpha1.Restarting} {
				require.Equal(t, kind == tc.kind, meta.IsStatusConditionTrue(job.Status.Conditions, kind), kind)
			}
			if tc.kind != "" {
				require.Contains(t, meta.FindStatusCondition(job.Status.Conditions, tc.kind).Message, tc.has)
				require.Contains(t, <-recorder.Events, fmt.Sprintf("Warning %s %s", tc.reason, tc.has))
			}
			require.Empty(t, recorder.Events, "each report is one event")
			look(aPod(job, "pi-launcher", asked(true, 0)))
			require.Empty(t, job.Status.Reason)
			require.False(t, meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Stalled))
			require.False(t, meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Restarting))
		})
	}
}

// TestHangThatEndsInARestart checks that a job no longer hangs when its launcher reports a restart, and the other way round.
func TestHangThatEndsInARestart(t *testing.T) {
	job := aJob(t, "mpi")
	for _, words := range []string{"mpirun seems to hang: for 600 s nothing was printed", "attempt 2 of 3: rank 1 was killed by SIGKILL", "mpirun seems to hang: for 600 s nothing was printed"} {
		launcher, b, sc := aPod(job, "pi-launcher", asked(false, time.Second)), aBuilder(job), scene{now: now()}
		sc.events = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: launcher.UID}, Message: "Readiness probe failed: agent: ready: " + words + "\n"}}
		sc.places, _ = observe(b.slots, []*corev1.Pod{launcher, aPod(job, "pi-worker-0"), aPod(job, "pi-worker-1")}, b.attempt, sc.now)
		job.Status = newStatus(job, sc)
		restarts := words[0] == 'a'
		require.Equal(t, restarts, meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Restarting), words)
		require.Equal(t, !restarts, meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Stalled), words)
	}
}

// TestReadinessProbeOfTheLauncher checks that a launcher has a readiness probe if it may have
// something to report and the user has set no probe.
func TestReadinessProbeOfTheLauncher(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.LaunchJob)
		asked  bool
	}{
		"hangAfter": {func(*v1alpha1.LaunchJob) {}, true},
		"restarts": {func(j *v1alpha1.LaunchJob) {
			j.Spec.HangAfter, j.Spec.RestartPolicy = nil, &v1alpha1.RestartPolicy{MaxRestarts: 2}
		}, true},
		"progress": {func(j *v1alpha1.LaunchJob) {
			j.Spec.HangAfter, j.Spec.RestartPolicy, j.Spec.Progress = nil, nil, []v1alpha1.ProgressRule{{FailOn: "nan"}}
		}, true},
		"neither": {func(j *v1alpha1.LaunchJob) { j.Spec.HangAfter, j.Spec.RestartPolicy, j.Spec.Progress = nil, nil, nil }, false},
		"the user's own": {func(j *v1alpha1.LaunchJob) {
			j.Spec.Launcher.Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 77}
		}, false},
	} {
		job := aJob(t, "mpi")
		tc.change(job)
		b := aBuilder(job)
		for _, s := range b.slots {
			probe := s.own(&b.pod(s, s.name).Spec).ReadinessProbe
			require.Equal(t, tc.asked && s.launcher(), probe != nil && probe.PeriodSeconds != 77, "%s: %s", name, s.name)
		}
	}
}
