package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// unstartable changes the pod's container to one that the runtime could not start.
func unstartable(file string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		ended(128, time.Minute, `failed to create containerd task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "`+file+`": stat `+file+`: no such file or directory: unknown`)(p)
		p.Status.ContainerStatuses[0].State.Terminated.Reason = "StartError"
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
}

// TestContainerThatCannotStart checks that the job's reason names the cause with a hint instead of
// the runtime's message.
func TestContainerThatCannotStart(t *testing.T) {
	mpi, join := aJob(t, "mpi"), aJob(t, "join")
	member := aBuilder(join).slots[0].name
	for name, tc := range map[string]struct {
		pods         []*corev1.Pod
		of           string
		reason, word string
	}{
		"launcher without the agent":    {[]*corev1.Pod{aPod(mpi, "pi-launcher", unstartable("/muster/agent")), aPod(mpi, "pi-worker-0"), aPod(mpi, "pi-worker-1")}, "mpi", "NoAgent", "set spec.agent.delivery: auto"},
		"a worker without the agent":    {[]*corev1.Pod{aPod(mpi, "pi-launcher", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = true }), aPod(mpi, "pi-worker-0", unstartable("/muster/agent")), aPod(mpi, "pi-worker-1")}, "mpi", "NoAgent", "set spec.agent.delivery: auto"},
		"member without the agent":      {[]*corev1.Pod{aPod(join, member, unstartable("/muster/agent"))}, "join", "NoAgent", "set spec.agent.delivery: auto"},
		"a missing command":             {[]*corev1.Pod{aPod(mpi, "pi-launcher", unstartable("/opt/pi"))}, "mpi", "StartError", "correct command, args or image"},
		"a missing command of a member": {[]*corev1.Pod{aPod(join, member, unstartable("/opt/train"))}, "join", "StartError", "correct command, args or image"},
		"a failed check":                {[]*corev1.Pod{aPod(mpi, "pi-launcher", ended(76, time.Minute, "preflight: pi-worker-1 on gpu-7: /dev has 7 (exit code 76)"))}, "mpi", "PreflightFailed", "pi-worker-1 on gpu-7"},
		"a lost worker":                 {[]*corev1.Pod{aPod(mpi, "pi-launcher", ended(76, time.Minute, "worker pi-worker-1 lost (exit code 76)"))}, "mpi", "Failed", "worker pi-worker-1 lost"},
		"a program that exits with 128": {[]*corev1.Pod{aPod(mpi, "pi-launcher", ended(128, time.Minute, "the command ended (exit code 128)"))}, "mpi", "Failed", "exit code 128"},
	} {
		t.Run(name, func(t *testing.T) {
			job := aJob(t, tc.of)
			b := aBuilder(job)
			sc := scene{now: now()}
			sc.places, _ = observe(b.slots, tc.pods, b.attempt, sc.now)
			sc.verdict = judgeJob(job, sc.places, sc.now)
			status := newStatus(job, sc)
			require.Equal(t, tc.reason, status.Reason)
			require.Contains(t, status.Message, tc.word)
			require.False(t, strings.Contains(status.Message, "runc create failed"), status.Message)
		})
	}
}

// TestDeliveryLeftOut checks that the default of the CRD delivers the agent to a job without
// spec.agent.
func TestDeliveryLeftOut(t *testing.T) {
	job := aJob(t, "mpi")
	job.Spec.Agent = nil
	b := aBuilder(job)
	require.Equal(t, agentVolume, b.pod(b.slots[0], "pi-launcher").Spec.InitContainers[0].Name)
}

// TestEndedWhileWorkersStart checks that a job that ended while workers were starting no longer
// reports that they are starting.
func TestEndedWhileWorkersStart(t *testing.T) {
	for name, end := range map[string]func(*corev1.Pod){"failed": ended(3, time.Second, "it broke"), "well": ended(0, time.Second, "")} {
		job := aJob(t, "mpi")
		status := func(pods ...*corev1.Pod) {
			b := aBuilder(job)
			sc := scene{now: now()}
			sc.places, _ = observe(b.slots, pods, b.attempt, sc.now)
			sc.verdict = judgeJob(job, sc.places, sc.now)
			job.Status = newStatus(job, sc)
		}
		status(aPod(job, "pi-launcher"), aPod(job, "pi-worker-0"))
		require.True(t, meta.IsStatusConditionFalse(job.Status.Conditions, v1alpha1.WorkersReady), name)
		ready := job.Status.Ready
		status(aPod(job, "pi-launcher", end), aPod(job, "pi-worker-0"))
		c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.WorkersReady)
		require.Equal(t, job.Status.Reason, c.Reason, name)
		require.Equal(t, "the job ended with "+ready+" workers ready", c.Message, name)
	}
}

// TestLaunchedWithoutALauncher checks that no message mentions a launcher in a job without one.
func TestLaunchedWithoutALauncher(t *testing.T) {
	job := aJob(t, "join")
	b := aBuilder(job)
	sc := scene{now: now()}
	var pods []*corev1.Pod
	for _, s := range b.slots {
		pods = append(pods, aPod(job, s.name, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = true }))
	}
	sc.places, _ = observe(b.slots, pods, b.attempt, sc.now)
	status := newStatus(job, sc)
	require.Equal(t, "all members run", meta.FindStatusCondition(status.Conditions, v1alpha1.Launched).Message)
}
