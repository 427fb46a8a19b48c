package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// failedOnce is the termination message of a launcher whose agent restarted the command in place.
const failedOnce = "the command ended (exit code 0)\n" +
	"earlier attempt 0 (exit code 3): worker pi-worker-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3\n" +
	"\tTraceback: boom\n\tKeyError: x\n" +
	"earlier attempt 1 (exit code 76): worker pi-worker-0 lost: evicted\n"

// TestFailedAttempts checks that a second attempt, of the pods or of the agent in them, does not
// hide why the first one failed.
func TestFailedAttempts(t *testing.T) {
	job := aJob(t, "mpi")
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{BackoffLimit: 1}
	end := func(code int32, words string) {
		sc := scene{now: now()}
		pods := []*corev1.Pod{aPod(job, "pi-launcher", ended(code, time.Second, words))}
		b := aBuilder(job)
		sc.places, _ = observe(b.slots, pods, b.attempt, now())
		sc.verdict = judgeJob(job, sc.places, now())
		job.Status = newStatus(job, sc)
	}
	end(5, "worker pi-worker-0: rank 0, pi (pid 9), was killed by SIGSEGV; mpirun exited with 139 (exit code 139)\n"+
		"earlier attempt 0 (exit code 3): worker pi-worker-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3\n")
	require.Equal(t, v1alpha1.PhaseRestarting, job.Status.Phase)
	end(0, failedOnce)
	require.Equal(t, v1alpha1.PhaseSucceeded, job.Status.Phase)
	var got []string
	for _, a := range job.Status.FailedAttempts {
		line, _, _ := strings.Cut(a.Message, ";")
		got = append(got, strings.Join([]string{string('0' + rune(a.Attempt)), string('0' + rune(a.Restart)), a.Pod, line}, " "))
	}
	require.Equal(t, []string{
		"1 0 pi-worker-1 worker pi-worker-1: rank 1, pi (pid 9), exited with 3",
		"1 1 pi-worker-0 worker pi-worker-0: rank 0, pi (pid 9), was killed by SIGSEGV",
		"2 0 pi-worker-1 worker pi-worker-1: rank 1, pi (pid 9), exited with 3",
		"2 1 pi-worker-0 worker pi-worker-0 lost: evicted",
	}, got)
	require.Equal(t, "pi-worker-0", job.Status.FirstFailure.Pod, "the first failure is that of the first container that failed")
}
