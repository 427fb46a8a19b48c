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

// rejected changes a pod to one that its kubelet rejected this long ago, before any container ran.
func rejected(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(now().Add(-ago))
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "Pod was rejected: Node didn't have enough resource: cpu"}
	}
}

// initFailed changes a pod to one whose init container failed this long ago.
func initFailed(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		at := metav1.NewTime(now().Add(-ago))
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed,
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "data", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at}}}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}}
	}
}

// TestFailedBeforeItRan checks that a worker whose pod fails before its own container runs is replaced
// like any failed worker. Without a launcher, it ends the job like any failed member.
func TestFailedBeforeItRan(t *testing.T) {
	mpi, join := aJob(t, "mpi"), aJob(t, "join")
	for why, row := range map[string]struct {
		fails func(ago time.Duration) func(*corev1.Pod)
		brief string
	}{
		"Error": {rejected, "OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu"},
		"Init":  {initFailed, "Init: container data: Error: exit code 1"},
	} {
		t.Run(why, func(t *testing.T) {
			fails := row.fails
			worker := func(ago time.Duration) outcome {
				return look(mpi, aPod(mpi, "pi-launcher"), aPod(mpi, "pi-worker-0"), aPod(mpi, "pi-worker-1", fails(ago)))
			}
			require.Equal(t, outcome{phase: "Waiting", reason: why}, worker(time.Second))
			require.Equal(t, outcome{record: []string{"pi-worker-1: " + row.brief}, phase: "Waiting", reason: why}, worker(time.Minute))
			member := func(ago time.Duration) outcome {
				return look(join, aPod(join, "net-master-0"), aPod(join, "net-worker-0", fails(ago)), aPod(join, "net-worker-1"))
			}
			require.Equal(t, outcome{phase: "Waiting", reason: why}, member(time.Second), "it must not look ready")
			require.Equal(t, outcome{verdict: "Failed", phase: "Failed", reason: "Failed"}, member(time.Minute))
		})
	}
}

// TestNeverReady checks that members whose containers never ran do not count as ready.
func TestNeverReady(t *testing.T) {
	job := aJob(t, "join")
	for name, fails := range map[string]func(*corev1.Pod){"rejected": rejected(time.Second), "init container failed": initFailed(time.Second), "no such command": unstartable("/opt/train")} {
		b := aBuilder(job)
		sc := scene{now: now()}
		sc.places, _ = observe(b.slots, []*corev1.Pod{aPod(job, "net-master-0"), aPod(job, "net-worker-0", fails), aPod(job, "net-worker-1", ended(3, time.Second, ""))}, b.attempt, sc.now)
		s := newStatus(job, sc)
		require.Equal(t, "2/3", s.Ready, name)
		require.False(t, meta.IsStatusConditionTrue(s.Conditions, v1alpha1.WorkersReady), name)
		require.False(t, meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Launched), name)
	}
}
