//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var rankLine = regexp.MustCompile(`(?m)^rank (\d+) of (\d+) on (\S+)`)

// ranksPerWorker counts the ranks that said they run on each of j's workers.
// Host names of pods are their names.
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
	require.Empty(t, byName, "ranks on hosts that are no workers:\n%s", log)
	return counts
}

// each is n times v.
func each(n, v int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// TestAllreduce: an allreduce of mpi4py, its sum checked by the ranks
// themselves, on every slot of every worker, the workers on all nodes.
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

// requireBothNodes: the workers ran on every node.
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

// requireWorkersDone: the workers were told that the job is over, and ended
// with 0 by themselves.
func (s *space) requireWorkersDone(j job) {
	s.t.Helper()
	for i := range j.workers {
		require.Zero(s.t, s.terminated(j.workerName(i), 30*time.Second).ExitCode)
	}
}
