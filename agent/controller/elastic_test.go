//go:build !e2e

package controller

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// pending changes a pod to one that found no node.
func pending(p *corev1.Pod) {
	p.Spec.NodeName = ""
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient cpu."}}}
}

// TestElasticWithFewerWorkers checks that an elastic job runs with its minimum of workers, and that its
// reason says what the others wait for.
func TestElasticWithFewerWorkers(t *testing.T) {
	job := aJob(t, "mpi")
	job.Spec.Workers, job.Spec.Elastic = new(int32(4)), &v1alpha1.Elastic{Min: 2, Max: 4}
	for _, tc := range []struct {
		ready         int // of four workers
		phase, reason string
		launched      bool
	}{
		{4, v1alpha1.PhaseRunning, "", true}, {3, v1alpha1.PhaseRunning, "Unschedulable", true},
		{2, v1alpha1.PhaseRunning, "Unschedulable", true}, {1, v1alpha1.PhaseWaiting, "Unschedulable", false},
	} {
		for _, before := range []v1alpha1.LaunchJobStatus{{}, {Phase: v1alpha1.PhaseRunning}} {
			job := job.DeepCopy()
			job.Status = before
			pods := []*corev1.Pod{aPod(job, "pi-launcher")}
			for i, name := range []string{"pi-worker-0", "pi-worker-1", "pi-worker-2", "pi-worker-3"} {
				pods = append(pods, aPod(job, name))
				if i >= tc.ready {
					pending(pods[i+1])
				}
			}
			b := aBuilder(job)
			sc := scene{now: now()}
			sc.places, _ = observe(b.slots, pods, b.attempt, sc.now)
			s := newStatus(job, sc)
			require.Equal(t, tc.phase+" "+tc.reason, s.Phase+" "+s.Reason, "%d ready", tc.ready)
			require.Equal(t, tc.launched, meta.IsStatusConditionTrue(s.Conditions, v1alpha1.Launched), "%d ready", tc.ready)
			require.Equal(t, tc.launched, meta.IsStatusConditionTrue(s.Conditions, v1alpha1.WorkersReady), "%d ready", tc.ready)
		}
	}
}

// TestKueueSeesEnoughPods checks that the Workload's pods count as ready without workers that the job can
// run without. Kueue may evict a job whose pods are not ready.
func TestKueueSeesEnoughPods(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.LaunchJob){
		"elastic": elastic(nil),
		"spares":  func(job *v1alpha1.LaunchJob) { job.Spec.Workers, job.Spec.Spares = new(int32(2)), 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := queuedStory(t, 0, false)
			queuedJob(s, change)
			s.settle()
			s.admits("pi")
			s.settle()
			run := func(workers ...string) string {
				s.kubelet(func(p *corev1.Pod) {
					if p.Name == "pi-launcher" || slices.Contains(workers, p.Name) {
						runs(s.clock.Now())(p)
					} else {
						p.Status = corev1.PodStatus{Phase: corev1.PodPending}
					}
				})
				s.settle()
				return s.condition("pi", "PodsReady")
			}
			require.Equal(t, "False WaitForStart", run("pi-worker-0"))
			require.Equal(t, "True Started", run("pi-worker-0", "pi-worker-2"))
			require.Equal(t, v1alpha1.PhaseRunning, s.job().Status.Phase)
			require.Equal(t, "False WaitForRecovery", run("pi-worker-0"))
			require.Equal(t, "True Recovered", run("pi-worker-0", "pi-worker-1"))
		})
	}
}
