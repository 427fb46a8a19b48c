package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// TestSparesInTheStatus checks that a job is ready without its spares, which are counted apart.
func TestSparesInTheStatus(t *testing.T) {
	job := aJob(t, "spares")
	waiting := func(p *corev1.Pod) {
		p.Status.ContainerStatuses = nil
		p.Status.Phase = corev1.PodPending
	}
	for name, tc := range map[string]struct {
		change        [3]func(*corev1.Pod) // of the workers' pods
		ready, spares string
		phase         string
	}{
		"all run":                       {[3]func(*corev1.Pod){}, "2/2", "1/1", v1alpha1.PhaseRunning},
		"the spare is not there yet":    {[3]func(*corev1.Pod){nil, nil, waiting}, "2/2", "0/1", v1alpha1.PhaseRunning},
		"a spare has replaced a worker": {[3]func(*corev1.Pod){nil, waiting, nil}, "2/2", "0/1", v1alpha1.PhaseRunning},
		"too few":                       {[3]func(*corev1.Pod){waiting, waiting, nil}, "1/2", "0/1", v1alpha1.PhaseWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{aPod(job, "pi-launcher")}
			for i, pod := range []string{"pi-worker-0", "pi-worker-1", "pi-worker-2"} {
				p := aPod(job, pod)
				if tc.change[i] != nil {
					tc.change[i](p)
				}
				pods = append(pods, p)
			}
			b := aBuilder(job)
			sc := scene{now: now()}
			sc.places, _ = observe(b.slots, pods, b.attempt, now())
			status := newStatus(job, sc)
			require.Equal(t, tc.ready, status.Ready)
			require.Equal(t, tc.spares, status.Spares)
			require.Equal(t, tc.phase, status.Phase)
		})
	}
}

// TestAFailedWorkerIsReplaced checks that the pod of a worker that a spare has replaced is recreated
// at once, also if the job has no restart.
func TestAFailedWorkerIsReplaced(t *testing.T) {
	job := aJob(t, "spares")
	job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.Launched, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now())}}
	launcher, w0, w2 := aPod(job, "pi-launcher"), aPod(job, "pi-worker-0"), aPod(job, "pi-worker-2")
	o := look(job, launcher, w0, w2, aPod(job, "pi-worker-1", ended(names.ExitReplaced, time.Second, "")))
	require.Equal(t, []string{"pi-worker-1: its launcher asked for another pod"}, o.record)
	require.Equal(t, []string{"pi-worker-1"}, look(job, launcher, w0, w2).create)
	require.Empty(t, o.verdict)
}
