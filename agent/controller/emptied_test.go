//go:build !e2e

package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestCountsAfterTheEnd checks that a job that has ended does not count pods as active, ready or workers
// after they have ended or were deleted. How the launcher ended stays.
func TestCountsAfterTheEnd(t *testing.T) {
	k := kindOfJob{led: true, workers: 2}
	for name, tc := range map[string]struct {
		ends func(*story)
		want []v1alpha1.RoleStatus
	}{
		"the launcher ends": {func(s *story) { s.kubelet(endsWith(0, s.clock.Now()), "pi-launcher") },
			[]v1alpha1.RoleStatus{{Name: "launcher", Desired: 1, Succeeded: 1}, {Name: "worker", Desired: 2}}},
		"the deadline": {func(s *story) {
			job := s.job()
			job.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(1))
			require.NoError(s.t, s.truth.Update(s.t.Context(), job))
		}, []v1alpha1.RoleStatus{{Name: "launcher", Desired: 1}, {Name: "worker", Desired: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			s.running(k)
			ready := s.job().Status.Ready
			tc.ends(s)
			s.settle()
			require.NotNil(t, s.job().Status.CompletionTime)
			s.clock.SetTime(s.clock.Now().Add(time.Minute)) // the other pods are deleted
			s.settle()
			status := s.job().Status
			require.Equal(t, tc.want, status.Roles)
			require.Zero(t, status.Workers)
			require.Equal(t, ready, status.Ready, "it keeps its last value")
		})
	}
}

// TestGenerationAfterTheEnd checks that the status of a job that has ended is about its newest spec. Tools that compare the two
// generations would wait forever.
func TestGenerationAfterTheEnd(t *testing.T) {
	s, k := aStory(t, 0, false), kindOfJob{led: true, workers: 1}
	require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
	s.running(k)
	s.ends()
	job := s.job()
	job.Spec.RunPolicy.TTLSecondsAfterFinished, job.Generation = new(int32(1<<30)), 7
	require.NoError(t, s.truth.Update(t.Context(), job))
	s.settle()
	require.EqualValues(t, 7, s.job().Status.ObservedGeneration)
	require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
}

// TestConditionsOfSuspendedJob checks that a job which is suspended while pods are replaced is no longer restarting.
func TestConditionsOfSuspendedJob(t *testing.T) {
	s, k := aStory(t, 0, false), kindOfJob{led: true, workers: 2}
	require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
	s.running(k)
	require.NoError(t, s.truth.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "pi-worker-0"}}))
	s.settle()
	is := func(kind string) bool { return meta.IsStatusConditionTrue(s.job().Status.Conditions, kind) }
	require.True(t, is(v1alpha1.Restarting))
	s.suspend(true)
	for _, kind := range []string{v1alpha1.Restarting, v1alpha1.Launched, v1alpha1.WorkersReady, v1alpha1.Stalled} {
		require.False(t, is(kind), kind)
	}
	require.True(t, is(v1alpha1.Suspended))
}

// TestCountsWhilePodsEnd checks that workers which end after the launcher are no longer active, also if
// their pods stay.
func TestCountsWhilePodsEnd(t *testing.T) {
	s, k := aStory(t, 0, false), kindOfJob{led: true, workers: 2}
	job := k.job(s.key)
	job.Spec.RunPolicy.CleanPodPolicy = "None"
	require.NoError(t, s.truth.Create(t.Context(), job))
	s.running(k)
	s.kubelet(endsWith(0, s.clock.Now()), "pi-launcher")
	s.settle()
	worker := func() v1alpha1.RoleStatus {
		roles := s.job().Status.Roles
		return roles[slices.IndexFunc(roles, func(r v1alpha1.RoleStatus) bool { return r.Name == "worker" })]
	}
	require.Equal(t, v1alpha1.RoleStatus{Name: "worker", Desired: 2, Active: 2, Ready: 2}, worker())
	s.kubelet(endsWith(0, s.clock.Now()), "pi-worker-1")
	s.settle()
	require.Equal(t, v1alpha1.RoleStatus{Name: "worker", Desired: 2, Active: 1, Ready: 1}, worker())
	require.EqualValues(t, 2, s.job().Status.Workers, "both pods exist")
}
