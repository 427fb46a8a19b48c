//go:build !e2e

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestGoodputInTheStatus checks that the status has the goodput of a launcher when it has ended, and of
// both launchers when the controller has started the pods again.
func TestGoodputInTheStatus(t *testing.T) {
	s := aStory(t, 0, false)
	k := kindOfJob{led: true, workers: 2}
	require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
	s.running(k)
	require.Empty(t, s.job().Status.Goodput, "it is known at the end")
	ends := func(code int32, words string) v1alpha1.LaunchJobStatus {
		s.kubelet(func(p *corev1.Pod) {
			endsWith(code, s.clock.Now())(p)
			p.Status.ContainerStatuses[0].State.Terminated.Message = words
		}, "pi-launcher")
		s.settle()
		return s.job().Status
	}
	status := ends(3, "rank 0 on pi-worker-0 exited with 3 (exit code 3)\ngoodput 60.4%: starting 10.0 s, productive 60.4 s, lost 29.6 s\nearlier attempt 0 (exit code 3): boom\n")
	require.EqualValues(t, 2, status.Attempt)
	require.Equal(t, "60.4%", status.Goodput)
	require.Equal(t, []v1alpha1.TimeSpent{{Class: "starting", Seconds: 10}, {Class: "productive", Seconds: 60}, {Class: "lost", Seconds: 30}}, status.Spent)
	require.NotContains(t, status.Message, "goodput")
	for _, a := range status.FailedAttempts {
		require.NotContains(t, a.Message, "goodput")
	}
	s.running(k)
	status = ends(0, "the command ended (exit code 0)\ngoodput 90.0%: starting 10.0 s, productive 90.0 s\n")
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase)
	require.Equal(t, "75.0%", status.Goodput)
	require.Equal(t, []v1alpha1.TimeSpent{{Class: "starting", Seconds: 20}, {Class: "productive", Seconds: 150}, {Class: "lost", Seconds: 30}}, status.Spent)
}
