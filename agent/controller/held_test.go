//go:build !e2e

package controller

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// TestNodeHoldsAnOldPod checks that the next attempt of the pods starts although a node that does not answer holds a pod of
// the last one, which Kubernetes never deletes by itself.
func TestNodeHoldsAnOldPod(t *testing.T) {
	for _, k := range kindsOfJob {
		t.Run(k.name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			s.running(k)
			p := s.pods()[len(s.pods())-1]
			last := p.Name
			p.Finalizers = []string{"test/kubelet"}
			require.NoError(t, s.truth.Update(t.Context(), &p))
			s.kubelet(silentNode, last)
			for _, p := range s.pods() {
				if p.Name != last || !k.led && k.workers == 1 {
					s.kubelet(endsWith(3, s.clock.Now()), p.Name)
				}
			}
			for range 20 { // members have 30 s to end
				s.settle()
			}
			for range 4 {
				s.settle()
				s.starts()
			}
			s.settle()
			status := s.job().Status
			require.EqualValues(t, 2, status.Attempt)
			require.Equal(t, v1alpha1.PhaseRunning, status.Phase, "%s: %s", status.Reason, status.Message)
			of := map[string]string{}
			for _, p := range s.pods() {
				of[p.Name] = p.Labels[names.LabelAttempt]
			}
			require.Equal(t, "1", of[last])
			require.Equal(t, "2", of[last+"-r1"])
			i := slices.IndexFunc(status.Replaced, func(r v1alpha1.Replaced) bool { return r.Pod == last })
			require.GreaterOrEqual(t, i, 0)
			require.Len(t, status.Replaced, 1)
			s.kubelet(func(p *corev1.Pod) {
				if p.Name != last {
					endsWith(0, s.clock.Now())(p)
				}
			})
			s.settle()
			require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
		})
	}
}

// TestNodeHoldsAnEvictedPod checks that an eviction counts once, and that the job runs again, although a node that does not
// answer holds one of its pods.
func TestNodeHoldsAnEvictedPod(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	s.settle()
	s.admits("pi")
	s.runsNow()
	p := s.pods()[1]
	p.Finalizers = []string{"test/kubelet"}
	require.NoError(t, s.truth.Update(t.Context(), &p))
	s.kubelet(silentNode, p.Name)
	s.says("pi", "Evicted True NodeFailures n1 failed")
	for range 5 {
		s.settle()
	}
	require.Equal(t, "True NodeFailures", s.condition("pi", "Requeued"), "the quota is given back")
	require.Equal(t, []int32{2, 1}, []int32{s.job().Status.Attempt, s.job().Status.Evictions})
	s.admits("pi")
	s.runsNow()
	require.Equal(t, []int32{2, 1}, []int32{s.job().Status.Attempt, s.job().Status.Evictions})
	require.Len(t, s.pods(), 5, "four, and the one on the node")
}

// TestRenamedContainer checks that a job whose container gets another name in the template ends by the pods that it has, and
// that new pods have the new name.
func TestRenamedContainer(t *testing.T) {
	for _, k := range kindsOfJob {
		t.Run(k.name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			s.running(k)
			job := s.job()
			job.Spec.Roles[0].Template.Spec.Containers[0].Name = "trainer"
			if k.led {
				job.Spec.Launcher.Template.Spec.Containers[0].Name = "trainer"
			}
			require.NoError(t, s.truth.Update(t.Context(), job))
			s.settle()
			require.Equal(t, v1alpha1.PhaseRunning, s.job().Status.Phase)
			s.kubelet(func(p *corev1.Pod) {
				endsWith(143, s.clock.Now())(p)
				disruptedBy("EvictionByEvictionAPI")(p)
			}, "pi-worker-0")
			s.settle()
			for _, p := range s.pods() {
				require.Equal(t, p.Name == "pi-worker-0", p.Spec.Containers[0].Name == "trainer", p.Name)
			}
			s.kubelet(func(p *corev1.Pod) {
				if p.Spec.Containers[0].Name == "main" {
					endsWith(0, s.clock.Now())(p)
					return
				}
				endsWith(0, s.clock.Now())(p)
				p.Status.ContainerStatuses[0].Name = "trainer"
			})
			s.settle()
			require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
		})
	}
}
