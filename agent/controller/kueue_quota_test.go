//go:build !e2e

package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestQuotaIsKeptWhilePodsRun checks that Kueue gets the quota of an ended job back with its last pod.
func TestQuotaIsKeptWhilePodsRun(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	job := s.job()
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "None"}
	require.NoError(t, s.truth.Update(t.Context(), job))
	s.settle()
	s.admits("pi")
	s.runsNow()
	ends := endsWith(0, s.clock.Now())
	s.kubelet(func(p *corev1.Pod) {
		if strings.HasSuffix(p.Name, "-launcher") {
			ends(p)
		}
	})
	s.settle()
	s.settle()
	require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
	require.Empty(t, s.condition("pi", "Finished"), "workers still run")
	s.kubelet(ends)
	s.settle()
	require.Equal(t, "True Succeeded", s.condition("pi", "Finished"))
}
