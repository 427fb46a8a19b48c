//go:build !e2e

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// hold lets pods exist until they have ended, or no longer.
func (s *story) hold(yes bool) {
	s.t.Helper()
	for _, p := range s.pods() {
		p.Finalizers = nil
		if yes {
			p.Finalizers = []string{"test/kubelet"}
		}
		require.NoError(s.t, s.truth.Update(s.t.Context(), &p))
	}
}

// TestSavedIsNotSucceeded checks that a job does not succeed because a program which is told to stop saves its work and
// exits with 0. The job continues with new pods.
func TestSavedIsNotSucceeded(t *testing.T) {
	image := func(job *v1alpha1.LaunchJob) { // only the image knows the command
		job.Spec.Roles[0].Template.Spec.Containers[0].Command, job.Spec.RestartPolicy = nil, nil
	}
	for name, tc := range map[string]struct {
		k      kindOfJob
		change func(*v1alpha1.LaunchJob)
	}{
		"one member":           {kindOfJob{workers: 1}, func(*v1alpha1.LaunchJob) {}},
		"one pod of an image":  {kindOfJob{workers: 1}, image},
		"two pods of an image": {kindOfJob{workers: 2}, image},
	} {
		drained := func(s *story) {
			for _, p := range s.pods() {
				require.NoError(s.t, s.truth.Delete(s.t.Context(), &p))
			}
			s.kubelet(func(p *corev1.Pod) {
				disruptedBy("EvictionByEvictionAPI")(p)
				p.Status.Conditions[len(p.Status.Conditions)-1].LastTransitionTime = metav1.Now()
			})
		}
		for blow, stops := range map[string]struct {
			now   func(*story)
			ends  time.Duration // by the clock of the node, after the pod was told to stop
			phase string
		}{
			"suspended": {func(s *story) { s.suspend(true) }, time.Minute, v1alpha1.PhaseSuspended},
			"drained":   {drained, time.Minute, v1alpha1.PhaseRestarting},
			"suspended, and the node's clock is behind": {func(s *story) { s.suspend(true) }, -3 * time.Second, v1alpha1.PhaseSuspended},
			"drained, and the node's clock is behind":   {drained, -3 * time.Second, v1alpha1.PhaseRestarting},
		} {
			t.Run(name+"/"+blow, func(t *testing.T) {
				s := aStory(t, 0, false)
				job := tc.k.job(s.key)
				tc.change(job)
				require.NoError(t, s.truth.Create(t.Context(), job))
				run := func() {
					s.settle()
					s.starts()
					s.settle()
					require.Equal(t, v1alpha1.PhaseRunning, s.job().Status.Phase)
					require.Len(t, s.pods(), int(tc.k.workers))
				}
				run()
				s.hold(true)
				stops.now(s)
				s.kubelet(endsWith(0, time.Now().Add(stops.ends)))
				s.settle()
				require.Equal(t, stops.phase, s.job().Status.Phase)
				s.hold(false)
				s.suspend(false)
				run()
				s.ends()
			})
		}
	}
}

// TestSucceededBeforeItWasDeleted checks that the success of a member counts, also if its pod is deleted before the
// controller sees it.
func TestSucceededBeforeItWasDeleted(t *testing.T) {
	s, k := aStory(t, 0, false), kindOfJob{workers: 1}
	require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
	s.running(k)
	s.hold(true)
	s.kubelet(endsWith(0, time.Now().Add(-time.Minute)))
	p := &corev1.Pod{}
	require.NoError(t, s.truth.Get(t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: "pi-worker-0"}, p))
	require.NoError(t, s.truth.Delete(t.Context(), p))
	s.settle()
	require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
}
