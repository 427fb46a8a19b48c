//go:build !e2e

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// kinds returns the record of the job as words: the attempt and the kind of each event.
func (s *story) kinds() (all []string) {
	for _, e := range s.job().Status.Timeline.Events {
		all = append(all, fmt.Sprintf("%d.%d %s", e.Attempt, e.Restart, e.Kind))
	}
	return all
}

// TestTheRecordOfAJob follows a job through a suspension, a launcher that is killed, and another one that
// reports its attempts. A record that is complete does not change.
func TestTheRecordOfAJob(t *testing.T) {
	s := aStory(t, 0, false)
	k := kindOfJob{led: true, workers: 2}
	job := k.job(s.key)
	job.Spec.RunPolicy.Suspend = true
	require.NoError(t, s.truth.Create(t.Context(), job))
	s.settle()
	require.Equal(t, []string{"1.0 suspended"}, s.kinds())
	s.suspend(false)
	s.running(k)
	// This API server sets no time of creation, and there is no scheduler.
	require.Equal(t, []string{"1.0 suspended", "1.0 resumed", "1.0 container-started", "1.0 launcher-started"}, s.kinds())
	before := s.job().Status.Timeline
	s.clock.SetTime(s.clock.Now().Add(time.Hour))
	s.settle()
	require.Equal(t, before, s.job().Status.Timeline)

	s.kubelet(endsWith(137, s.clock.Now()), "pi-launcher") // without a message
	s.settle()
	last := s.kinds()
	require.Equal(t, "1.0 run-ended", last[len(before.Events)])
	end := s.job().Status.Timeline.Events[len(before.Events)]
	require.EqualValues(t, 137, end.Count)
	require.Equal(t, reasonExited, end.Cause)

	s.running(k)
	s.kubelet(func(p *corev1.Pod) {
		endsWith(0, s.clock.Now())(p)
		p.Status.ContainerStatuses[0].State.Terminated.Message = "the command ended (exit code 0)\n" +
			"events from 2026-03-01T12:00:00Z: all-linked 2.0, command-started 3.0, attempt-ended 10.0 code 3 oom, restart 11.0, command-started 12.0, attempt-ended 19.0 code 0 success\n" +
			"earlier attempt 0 (exit code 3): boom\n"
	}, "pi-launcher")
	s.settle()
	status := s.job().Status
	require.Equal(t, v1alpha1.PhaseSucceeded, status.Phase)
	require.NotContains(t, status.Message, "all-linked")
	all := s.kinds()
	require.Equal(t, []string{"2.0 all-linked", "2.0 command-started", "2.0 attempt-ended", "2.1 restart", "2.1 command-started", "2.1 attempt-ended", "2.1 run-ended"}, all[len(all)-7:])
	require.Zero(t, status.Timeline.OmittedAttempts)
}
