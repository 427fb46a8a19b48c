//go:build mpi

package fake

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// rank is one line of hello.
type rank struct {
	number, of int
	worker     string
	session    string
	cpus       string
}

var helloLine = regexp.MustCompile(`(?m)^rank (\d+) of (\d+) on (\S+) session (\S+) pid \d+ cpus (\S+)$`)

func ranks(t testing.TB, text string) []rank {
	t.Helper()
	var all []rank
	for i, m := range helloLine.FindAllStringSubmatch(text, -1) {
		number, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		of, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		require.Equal(t, i, number, "hello writes in the order of ranks: %s", text)
		all = append(all, rank{number, of, m[3], m[4], m[5]})
	}
	require.NotEmpty(t, all, "no rank said hello: %s", text)
	require.Len(t, all, all[0].of, text)
	return all
}

// perWorker counts the ranks of each worker, and requires that each worker has one session of its own.
func perWorker(t testing.TB, all []rank) map[string]int {
	t.Helper()
	count, sessionOf, workerOf := map[string]int{}, map[string]string{}, map[string]string{}
	for _, r := range all {
		require.NotEqual(t, "none", r.session, "rank %d has no session", r.number)
		count[r.worker]++
		if count[r.worker] > 1 {
			require.Equal(t, sessionOf[r.worker], r.session, "two sessions on %s", r.worker)
		} else {
			require.Empty(t, workerOf[r.session], "one session on two workers")
		}
		sessionOf[r.worker], workerOf[r.session] = r.session, r.worker
	}
	return count
}

// TestWhatBindingToACoreCosts measures what the user's own binding costs. Muster keeps the binding, although both
// ranks then run on one core, and a run that computes takes longer.
func TestWhatBindingToACoreCosts(t *testing.T) {
	f := families[0]
	one := agentRun(t, []string{"--fake=2"}, f.mpirun, "--bind-to", "core", f.program("hello"))
	o := run(t, one)
	o.wants(t, 0)
	all := ranks(t, o.out)
	require.Equal(t, all[0].cpus, all[1].cpus)
	require.Regexp(t, `^\d+$`, all[0].cpus)

	const runs, steps = 3, "120000000"
	seconds := regexp.MustCompile(`from 2 ranks, ([0-9.]+) s`)
	series := figure.Series{Reduce: "ratio"}
	for range runs {
		for _, own := range []bool{true, false} {
			c := agentRun(t, []string{"--fake=2"}, f.mpirun, f.program("pi"), steps)
			if own {
				c.env = []string{"OMPI_MCA_hwloc_base_binding_policy=core"}
			}
			o := run(t, c)
			o.wants(t, 0)
			require.Equal(t, own, strings.Contains(o.err, `OMPI_MCA_hwloc_base_binding_policy="core" is set and kept in place of "none"`), o.err)
			m := seconds.FindStringSubmatch(o.out)
			require.NotNil(t, m, o.out)
			took, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			if own {
				series.Samples = append(series.Samples, took)
			} else {
				series.Over = append(series.Over, took)
			}
		}
	}
	t.Logf("bound to one core %v s, as Muster sets it %v s", series.Samples, series.Over)
	record(t, "fake-binding", series, figure.Row{Name: "two fake workers, one rank each: bound to a core, against our environment", Unit: "ratio"})
}

//go:embed testdata/late.c
var lateSource []byte

// TestRanksThatEndAtOnceAreCounted needs 32 ranks on a worker: Open MPI 4 hangs from that number on.
func TestRanksThatEndAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	endAtOnce(t, "mpirun.openmpi", "OMPI_MCA_odls_base_max_threads=16", 32)
}

// endAtOnce runs ranks that end before a thread of their daemon has recorded the pid. With threads, which is a
// setting of the user, mpirun never ends. With Muster's settings it does.
func endAtOnce(t *testing.T, mpirun, threads string, ranks int) {
	t.Helper()
	dir := t.TempDir()
	source, late := filepath.Join(dir, "late.c"), filepath.Join(dir, "late.so")
	require.NoError(t, os.WriteFile(source, lateSource, 0o644))
	out, err := exec.Command("mpicc.openmpi", "-O2", "-shared", "-fPIC", "-o", late, source, "-ldl").CombinedOutput()
	require.NoError(t, err, string(out))

	n := strconv.Itoa(ranks)
	words := []string{mpirun, "-n", n, "echo", "rank"}
	ours := agentRun(t, []string{"--fake=1", "--slots=" + n}, words...)
	ours.env = []string{"LD_PRELOAD=" + late}
	theirs := agentRun(t, []string{"--fake=1", "--slots=" + n}, append([]string{"timeout", "10"}, words...)...)
	theirs.env = append([]string{threads}, ours.env...)

	o := run(t, theirs)
	o.wants(t, 124)
	require.Equal(t, ranks, strings.Count(o.out, "rank\n"), "all ranks ran: %s", o.err)
	o = run(t, ours)
	o.wants(t, 0)
	require.Equal(t, ranks, strings.Count(o.out, "rank\n"))
}
