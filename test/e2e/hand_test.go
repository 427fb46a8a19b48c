//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestByHand: `agent run -- sleep inf` in the launcher, and people who type
// mpirun through kubectl exec. What they type arrives as given.
func TestByHand(t *testing.T) {
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

// handRow is a line typed by hand and what it must come to.
type handRow struct {
	name, line string
	check      func(t *testing.T, got result, j job)
}

// onRanks: the line ran well and these were the ranks of each worker.
func onRanks(want ...int) func(*testing.T, result, job) {
	return func(t *testing.T, got result, j job) {
		require.Zero(t, got.code, "%+v", got)
		require.Equal(t, want, ranksPerWorker(t, got.stdout, j))
	}
}

// prints: the line ran well and printed word so many times.
func prints(times int, word string) func(*testing.T, result, job) {
	return func(t *testing.T, got result, _ job) {
		require.Zero(t, got.code, "%+v", got)
		require.Equal(t, times, strings.Count(got.stdout, word), "%+v", got)
	}
}

// printsLines: the line ran well, and printed each of these lines so many times.
// mpirun mixes the lines of ranks.
func printsLines(times int, lines ...string) func(*testing.T, result, job) {
	return func(t *testing.T, got result, j job) {
		for _, line := range lines {
			prints(times, line+"\n")(t, got, j)
		}
	}
}

// complains: the line ended badly, with these words of mpirun's own, and
// without any of the agent's.
func complains(words string) func(*testing.T, result, job) {
	return func(t *testing.T, got result, _ job) {
		require.NotZero(t, got.code, "%+v", got)
		require.Contains(t, got.stdout+got.stderr, words)
		require.NotContains(t, got.stdout+got.stderr, "agent:")
	}
}

var openmpiByHand = []handRow{
	{"every slot without -np", "mpirun /opt/muster-test/hello", onRanks(2, 2)},
	{"quiet", "mpirun true 2>&1", func(t *testing.T, got result, _ job) { require.Equal(t, result{}, got) }},
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
