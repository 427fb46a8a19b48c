//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// isWorker tells a worker's pod from the launcher's, for job.edit.
func isWorker(pod *corev1.Pod) bool { return pod.Labels["muster.dev/role"] == "worker" }

// TestNoShell: workers without /bin/sh, or anything else but orted, its
// libraries and the program. The agent runs what mpirun sends.
func TestNoShell(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := job{name: "bare", image: "openmpi", workers: 2, slots: 2,
		command: []string{"mpirun", "/opt/muster-test/hello"},
		edit: func(pod *corev1.Pod) {
			if isWorker(pod) {
				pod.Spec.Containers[0].Image = image("noshell")
			}
		}}
	s.apply(append(j.access(t), j.worker(t, 0), j.worker(t, 1))...)
	s.ready(time.Minute, "bare-worker-0", "bare-worker-1")
	_, err := s.try(time.Minute, "exec", "bare-worker-0", "--", "/bin/sh", "-c", "exit 0")
	require.ErrorContains(t, err, "no such file", "the image has a shell")
	s.apply(j.launcher(t))
	end := s.end("bare-launcher", 2*time.Minute)
	require.Zero(t, end.code, end.log)
	require.Equal(t, each(2, 2), ranksPerWorker(t, end.log, j))
}

// TestLateWorkers: the launcher comes first, then one worker, then the other;
// it says whom it waits for.
func TestLateWorkers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := job{name: "late", image: "openmpi", workers: 2, slots: 1, command: []string{"mpirun", "/opt/muster-test/hello"}}
	s.apply(append(j.access(t), j.launcher(t))...)
	log := s.follow("late-launcher")
	log.until(time.Minute, "0/2 ready")
	s.apply(j.worker(t, 1))
	line := log.until(time.Minute, "1/2 ready")
	require.NotContains(t, line, "late-worker-1", "it is there already")
	s.apply(j.worker(t, 0))
	log.until(time.Minute, "2/2 ready")
	end := s.end("late-launcher", time.Minute)
	require.Zero(t, end.code, end.log)
	require.Equal(t, []int{1, 1}, ranksPerWorker(t, end.log, j))
}

// TestExitCode: a rank's own code is the launcher's, and the workers, told
// that the job is over, end with 0.
func TestExitCode(t *testing.T) {
	for _, c := range []struct{ image, command, rank string }{
		{"openmpi", "mpirun", "OMPI_COMM_WORLD_RANK"},
		{"mpich", "mpiexec", "PMI_RANK"},
	} {
		t.Run(c.image, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			j := job{name: "seven", image: c.image, workers: 2, slots: 2,
				command: []string{c.command, "sh", "-c", "[ $" + c.rank + " != 3 ] || exit 7"}}
			s.start(j)
			end := s.end("seven-launcher", 2*time.Minute)
			require.Equal(t, 7, end.code, end.log)
			require.Equal(t, 7, s.report(end).Exit)
			s.requireWorkersDone(j)
		})
	}
}

// TestWorkerKilled: a worker that dies under running ranks ends the job within
// 10 s, with a code that is not 0 and a sentence that names the worker.
func TestWorkerKilled(t *testing.T) {
	for _, c := range []struct{ image, command string }{{"openmpi", "mpirun"}, {"mpich", "mpiexec"}} {
		t.Run(c.image, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			j := job{name: "loss", image: c.image, workers: 3, slots: 1, words: true,
				command: []string{c.command, "sh", "-c", "echo up; sleep 600"}}
			s.start(j)
			log := s.follow("loss-launcher")
			for range j.workers {
				log.until(2*time.Minute, "up")
			}
			began := time.Now()
			s.kubectl("delete", "pod", "loss-worker-1", "--grace-period=0", "--force")
			log.drain(time.Minute)
			took := time.Since(began)
			end := s.end("loss-launcher", time.Minute)
			t.Logf("the launcher ended %.1f s after the kill, with %d: %s", took.Seconds(), end.code, end.message)
			require.NotZero(t, end.code, end.log)
			require.Contains(t, end.message, "loss-worker-1")
			require.Contains(t, strings.Join(log.seen, "\n"), "loss-worker-1")
			require.LessOrEqual(t, took, 10*time.Second)
			for _, i := range []int{0, 2} { // nothing is left running
				require.Zero(t, s.terminated(j.workerName(i), 30*time.Second).ExitCode)
			}
		})
	}
}
