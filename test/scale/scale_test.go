//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func TestStamps(t *testing.T) {
	ready, line, err := stamps(`2026-11-22T14:05:09.100000000Z agent: 19/20 ready
2026-11-22T14:05:09.500000000Z agent: 20/20 ready
2026-11-22T14:05:10.000000001Z agent: mpirun /opt/muster-test/hello
2026-11-22T14:05:11.250000000Z rank 0 of 40 on w session 1
2026-11-22T14:05:11.300000000Z rank 1 of 40 on w session 1
`, "20/20 ready")
	require.NoError(t, err)
	require.Equal(t, 1750*time.Millisecond, line.Sub(ready))
	_, _, err = stamps("2026-11-22T14:05:09.5Z agent: 20/20 ready\n", "20/20 ready")
	require.ErrorContains(t, err, "or no rank's line")
	_, _, err = stamps("rank 0\n", "20/20 ready")
	require.ErrorContains(t, err, "read log")
}

// A moment is that of the first sight.
func TestProgress(t *testing.T) {
	p := &progress{news: make(chan struct{}, 1), scheduled: map[string]time.Time{}, running: map[string]time.Time{}, phases: map[phase]time.Time{}}
	pod := &corev1.Pod{}
	pod.Name, pod.Spec.Containers = "a", make([]corev1.Container, 2)
	p.take(pod)
	require.Empty(t, p.scheduled)
	pod.Spec.NodeName = "n"
	p.take(pod)
	at := p.scheduled["a"]
	require.False(t, at.IsZero())
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: running}}
	p.take(pod)
	require.Empty(t, p.running, "one of two")
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}})
	p.take(pod)
	require.Len(t, p.running, 1, "one that has run counts")
	require.Equal(t, at, p.scheduled["a"])
	for _, name := range []string{"", v1alpha1.PhaseWaiting, v1alpha1.PhaseRunning} {
		job := &v1alpha1.LaunchJob{}
		job.Name, job.Status.Phase = "j", name
		p.take(job)
	}
	require.Equal(t, 1, p.inPhase(v1alpha1.PhaseRunning))
	require.Equal(t, 0, p.inPhase(v1alpha1.PhaseSucceeded))
}
