//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// isWorker reports whether a pod is a worker, not the launcher, for job.edit.
func isWorker(pod *corev1.Pod) bool { return pod.Labels["muster.dev/role"] == "worker" }

// TestNoShell runs workers without /bin/sh, with only orted, its libraries and the program. The agent runs the
// commands that mpirun sends.
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
	require.ErrorContains(t, err, "no such file", "the image must have no shell")
	s.apply(j.launcher(t))
	end := s.end("bare-launcher", 2*time.Minute)
	require.Zero(t, end.code, end.log)
	require.Equal(t, each(2, 2), ranksPerWorker(t, end.log, j))
}

// TestLateWorkers starts the launcher first, then one worker, then the other. The launcher names the missing
// worker.
func TestLateWorkers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	j := job{name: "late", image: "openmpi", workers: 2, slots: 1, command: []string{"mpirun", "/opt/muster-test/hello"}}
	s.apply(append(j.access(t), j.launcher(t))...)
	log := s.follow("late-launcher")
	log.until(time.Minute, "0/2 ready")
	s.apply(j.worker(t, 1))
	line := log.until(time.Minute, "1/2 ready")
	require.NotContains(t, line, "late-worker-1", "late-worker-1 is ready already")
	s.apply(j.worker(t, 0))
	log.until(time.Minute, "2/2 ready")
	end := s.end("late-launcher", time.Minute)
	require.Zero(t, end.code, end.log)
	require.Equal(t, []int{1, 1}, ranksPerWorker(t, end.log, j))
}

// TestExitCode checks that the launcher exits with a rank's own code, and that the workers exit with 0 when the job
// is over.
func TestExitCode(t *testing.T) {
	t.Parallel()
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

// TestWorkerKilled kills a worker while its ranks run. The job ends within 10 s, with a code other than 0 and a
// message that names the worker.
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
			for _, i := range []int{0, 2} { // the other workers run no rank
				require.Zero(t, s.terminated(j.workerName(i), 30*time.Second).ExitCode)
			}
		})
	}
}

// TestByHand runs `agent run -- sleep inf` in the launcher, and mpirun commands that a user types through kubectl
// exec. Their arguments arrive unchanged.
func TestByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		image string
		rows  []handRow
	}{
		{"openmpi", openmpiByHand},
		{"mpich", mpichByHand},
	} {
		t.Run(c.image, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			j := job{name: "hand", image: c.image, workers: 2, slots: 2, command: []string{"sleep", "inf"}}
			s.start(j)
			s.follow("hand-launcher").until(2*time.Minute, "2/2 ready")
			for _, row := range c.rows {
				t.Run(row.name, func(t *testing.T) {
					got := s.exec(2*time.Minute, "hand-launcher", "sh", "-c", `eval "$(agent env)"; `+row.line)
					row.check(t, got, j)
				})
			}
			s.kubectl("delete", "pod", "hand-launcher", "--wait=false")
			s.requireWorkersDone(j)
		})
	}
}

// handRow is a line typed by hand, and the check of its result.
type handRow struct {
	name, line string
	check      func(t *testing.T, got result, j job)
}

// onRanks requires that the line succeeded, and that each worker had that number of ranks.
func onRanks(want ...int) func(*testing.T, result, job) {
	return func(t *testing.T, got result, j job) {
		require.Zero(t, got.code, "%+v", got)
		require.Equal(t, want, ranksPerWorker(t, got.stdout, j))
	}
}

// prints requires that the line succeeded, and that its output has word that many times.
func prints(times int, word string) func(*testing.T, result, job) {
	return func(t *testing.T, got result, _ job) {
		require.Zero(t, got.code, "%+v", got)
		require.Equal(t, times, strings.Count(got.stdout, word), "%+v", got)
	}
}

// printsLines requires that the line succeeded, and that its output has each of these lines that many times. mpirun
// mixes the lines of ranks.
func printsLines(times int, lines ...string) func(*testing.T, result, job) {
	return func(t *testing.T, got result, j job) {
		for _, line := range lines {
			prints(times, line+"\n")(t, got, j)
		}
	}
}

// complains requires that the line failed, with these words in mpirun's message, and without a message of the
// agent.
func complains(words string) func(*testing.T, result, job) {
	return func(t *testing.T, got result, _ job) {
		require.NotZero(t, got.code, "%+v", got)
		require.Contains(t, got.stdout+got.stderr, words)
		require.NotContains(t, got.stdout+got.stderr, "agent:")
	}
}

// lostRace is a warning that Open MPI prints on a busy machine, see docs/guides/mpi.md. It is only filtered for the
// mpirun that agent run starts.
var lostRace = regexp.MustCompile(`(?m)^\[[^]]*\] plm:rsh: Warning: setpgid\([^)]*\) failed in parent .*\n`)

var openmpiByHand = []handRow{
	{"every slot without -np", "mpirun /opt/muster-test/hello", onRanks(2, 2)},
	{"quiet", "mpirun true 2>&1", func(t *testing.T, got result, _ job) {
		got.stdout = lostRace.ReplaceAllString(got.stdout, "")
		require.Equal(t, result{}, got)
	}},
	{"beyond the slots", "mpirun -np 5 /opt/muster-test/hello", complains("There are not enough slots available in the system to satisfy the 5")},
	{"-x NAME", "GREETING='two words' mpirun -x GREETING /opt/muster-test/where GREETING", prints(4, "GREETING=two words\n")},
	{"-mca btl", "mpirun -mca btl self,tcp -mca btl_tcp_progress_thread 1 /opt/muster-test/where OMPI_MCA_btl OMPI_MCA_btl_tcp_progress_thread",
		printsLines(4, "OMPI_MCA_btl=self,tcp", "OMPI_MCA_btl_tcp_progress_thread=1")},
	{"-mca btl works", "mpirun -mca btl self,tcp /opt/muster-test/hello", onRanks(2, 2)},
	{"--hostfile", "echo hand-worker-1 slots=1 > /tmp/own; mpirun --hostfile /tmp/own /opt/muster-test/hello", onRanks(0, 1)},
	{"-H", "mpirun -H hand-worker-0:1 /opt/muster-test/hello", onRanks(1, 0)},
	{"a rank's exit code", "mpirun sh -c 'exit 9'", func(t *testing.T, got result, _ job) { require.Equal(t, 9, got.code, "%+v", got) }},
	{"stdin", "seq 1000 | mpirun -np 1 wc -l", prints(1, "1000\n")},
	{"unknown host", "agent rsh nowhere true", func(t *testing.T, got result, j job) {
		require.Equal(t, 255, got.code, "%+v", got)
		require.Contains(t, got.stderr, "hand-worker-0")
	}},
	{"a raw session", "agent rsh hand-worker-1 'echo $(hostname); exit 3'", func(t *testing.T, got result, j job) {
		require.Equal(t, result{3, "hand-worker-1\n", got.stderr}, got)
	}},
}

var mpichByHand = []handRow{
	{"every slot without -n", "mpiexec /opt/muster-test/hello", onRanks(2, 2)},
	{"quiet", "mpiexec true 2>&1", func(t *testing.T, got result, _ job) { require.Equal(t, result{}, got) }},
	{"-genv NAME", "mpiexec -genv GREETING 'two words' /opt/muster-test/where GREETING", prints(4, "GREETING=two words\n")},
	{"-f hostfile", "echo hand-worker-1:1 > /tmp/own; mpiexec -f /tmp/own /opt/muster-test/hello", onRanks(0, 1)},
	{"a rank's exit code", "mpiexec -n 4 sh -c '[ $PMI_RANK != 3 ] || exit 9'", func(t *testing.T, got result, _ job) {
		require.Equal(t, 9, got.code, "%+v", got)
	}},
}

var rankLine = regexp.MustCompile(`(?m)^rank (\d+) of (\d+) on (\S+)`)

// ranksPerWorker counts the ranks in the log for each of j's workers. A pod's host name is its name.
func ranksPerWorker(t *testing.T, log string, j job) []int {
	t.Helper()
	byName := map[string]int{}
	seen := map[string]bool{}
	for _, m := range rankLine.FindAllStringSubmatch(log, -1) {
		require.False(t, seen[m[1]], "rank %s twice:\n%s", m[1], log)
		seen[m[1]] = true
		byName[m[3]]++
	}
	counts := make([]int, j.workers)
	for i := range counts {
		counts[i] = byName[j.workerName(i)]
		delete(byName, j.workerName(i))
	}
	require.Empty(t, byName, "ranks on hosts that are not workers:\n%s", log)
	return counts
}

// each returns n times v.
func each(n, v int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// TestAllreduce runs an allreduce of mpi4py on every slot of every worker, with workers on all nodes. The ranks
// check the sum themselves.
func TestAllreduce(t *testing.T) {
	for _, c := range []struct {
		image   string
		command string
		workers int
	}{
		{"openmpi", "mpirun", 2},
		{"mpich", "mpiexec", 2},
		{"openmpi", "mpirun", 20},
		{"mpich", "mpiexec", 20},
	} {
		t.Run(fmt.Sprintf("%s-%d", c.image, c.workers), func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			j := job{name: "sum", image: c.image, workers: c.workers, slots: 2,
				command: []string{c.command, "python3", "/opt/muster-test/allreduce.py"}}
			s.start(j)
			end := s.end("sum-launcher", 5*time.Minute)
			require.Zero(t, end.code, end.log)
			n := 2 * c.workers
			require.Contains(t, end.log, fmt.Sprintf("sum ok: %d ranks, %d", n, n*(n+1)/2))
			require.Equal(t, each(c.workers, 2), ranksPerWorker(t, end.log, j))

			report := s.report(end)
			require.Equal(t, c.workers, report.Workers)
			require.Equal(t, c.workers, report.Sessions, "one session of %s for each worker", c.command)
			require.Empty(t, report.Lost)
			s.requireBothNodes(j)
			s.requireWorkersDone(j)
		})
	}
}

// requireBothNodes requires that the workers ran on both nodes.
func (s *space) requireBothNodes(j job) {
	s.t.Helper()
	nodes := map[string]bool{}
	for _, pod := range s.pods() {
		if isWorker(&pod) {
			nodes[pod.Spec.NodeName] = true
		}
	}
	require.GreaterOrEqual(s.t, len(nodes), 2, "the workers ran on %v", nodes)
}

// requireWorkersDone requires that the workers were told that the job is over, and exited with 0 by themselves.
func (s *space) requireWorkersDone(j job) {
	s.t.Helper()
	for i := range j.workers {
		require.Zero(s.t, s.terminated(j.workerName(i), 30*time.Second).ExitCode)
	}
}
