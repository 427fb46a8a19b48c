//go:build mpi

package fake

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

func ranks(t *testing.T, text string) []rank {
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

// perWorker counts ranks, and sees that each worker has a session of its own.
func perWorker(t *testing.T, all []rank) map[string]int {
	t.Helper()
	count, sessionOf, workerOf := map[string]int{}, map[string]string{}, map[string]string{}
	for _, r := range all {
		require.NotEqual(t, "none", r.session, "rank %d is in no session", r.number)
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

// slots wants n ranks on each of the first workers.
func slots(n, workers int) map[string]int {
	want := map[string]int{}
	for i := range workers {
		want["127.0.0."+strconv.Itoa(2+i)] = n
	}
	return want
}

// The trap is a job that runs on one node and says 0: plain mpirun must start a
// rank for every slot of every worker.
func TestPlainMpirunTakesEverySlot(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, agentRun(t, []string{"--fake=4", "--slots=2"}, f.mpirun, f.program("hello")))
		o.wants(t, 0)
		require.Equal(t, slots(2, 4), perWorker(t, ranks(t, o.out)))
		require.Equal(t, 4, o.report.Workers)
		require.Equal(t, 4, o.report.Sessions)
		require.Equal(t, 4, o.report.Links)
		require.Equal(t, 0, o.report.Redials)
	})
}

// The launcher is a host as well: its ranks come first, and belong to no session.
func TestLauncherTakesRanks(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, agentRun(t, []string{"--fake=2", "--slots=2", "--launcher-slots=2"}, f.mpirun, f.program("hello")))
		o.wants(t, 0)
		all := ranks(t, o.out)
		require.Len(t, all, 6)
		for i, r := range all {
			require.Equal(t, i < 2, r.session == "none", "rank %d is in session %s", i, r.session)
		}
		require.Equal(t, 2, o.report.Sessions)
	})
}

// In the default private directory, as a newcomer calls it.
func TestPi(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		c := agentRun(t, []string{"--fake=4", "--slots=2"}, f.mpirun, f.program("pi"))
		c.shared = true
		o := run(t, c)
		o.wants(t, 0)
		require.Regexp(t, `(?m)^pi = 3\.141592653\d+ \(error \S+\) from 8 ranks`, o.out)
		for worker := range slots(2, 4) {
			require.Equal(t, 2, strings.Count(o.out, " on "+worker+"\n"), o.out)
		}
	})
}

func TestAllreduceOfMPI4PY(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		c := agentRun(t, []string{"--fake=4", "--slots=2"}, f.mpirun, "/usr/bin/python3", filepath.Join(programs, "allreduce.py"))
		if f.name == "mpich" {
			c.env = []string{"PYTHONPATH=" + mpi4pyMPICH(), "LD_LIBRARY_PATH=" + mpi4pyMPICH(), "MPI4PY_MPIABI=mpich"}
		}
		o := run(t, c)
		o.wants(t, 0)
		require.Contains(t, o.out, "sum ok: 8 ranks, 36\n")
		for worker := range slots(2, 4) {
			require.Equal(t, 2, strings.Count(o.out, " on "+worker+"\n"), o.out)
		}
	})
}

func TestNumberOfRanks(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, agentRun(t, []string{"--fake=2", "--slots=2"}, f.mpirun, "-np", "3", f.program("hello")))
		o.wants(t, 0)
		require.Equal(t, map[string]int{"127.0.0.2": 2, "127.0.0.3": 1}, perWorker(t, ranks(t, o.out)))

		o = run(t, agentRun(t, []string{"--fake=2", "--slots=2"}, f.mpirun, "-np", "5", f.program("hello")))
		if f.name == "mpich" { // goes round
			o.wants(t, 0)
			require.Equal(t, map[string]int{"127.0.0.2": 3, "127.0.0.3": 2}, perWorker(t, ranks(t, o.out)))
			return
		}
		o.wants(t, 1)
		require.Contains(t, o.err, "There are not enough slots available in the system to satisfy the 5\nslots")
		require.Contains(t, o.err, "agent: mpirun.openmpi exited with 1\n")
	})
}

const awkward = `a  b 'c' "d" $HOME \ * ; | & ü`

// Words of the command line and values of the environment pass through mpirun,
// the agent, the worker's shell and the daemon.
func TestWordsArrive(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		give := []string{"-x", "AWKWARD"}
		if f.name == "mpich" {
			give = []string{"-genv", "AWKWARD", awkward}
		}
		c := agentRun(t, []string{"--fake=2"}, append(append([]string{f.mpirun}, give...), "printenv", "AWKWARD")...)
		c.env = []string{"AWKWARD=" + awkward}
		o := run(t, c)
		o.wants(t, 0)
		require.Equal(t, strings.Repeat(awkward+"\n", 2), o.out)

		o = run(t, agentRun(t, []string{"--fake=2"}, f.mpirun, "printf", "<%s>\n", awkward, ""))
		o.wants(t, 0)
		require.Equal(t, strings.Repeat("<"+awkward+">\n", 2)+"<>\n<>\n", sorted(o.out), "mpirun mixes the lines of ranks")
	})
}

// sorted puts the lines of an output in order, the longer ones first.
func sorted(out string) string {
	list := strings.SplitAfter(out, "\n")
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return strings.Join(list, "")
}

func TestOwnTransport(t *testing.T) {
	t.Parallel()
	o := run(t, agentRun(t, []string{"--fake=2", "--slots=2"}, "mpirun.openmpi", "-mca", "btl", "self,tcp", families[0].program("hello")))
	o.wants(t, 0)
	require.Equal(t, slots(2, 2), perWorker(t, ranks(t, o.out)))
	o = run(t, agentRun(t, []string{"--fake=2"}, "mpirun.openmpi", "-mca", "btl", "self,tcp", "printenv", "OMPI_MCA_btl"))
	o.wants(t, 0)
	require.Equal(t, "self,tcp\nself,tcp\n", o.out)
}

// A hostfile of the user's own counts, not ours: some of the hosts, other slots.
func TestOwnHostfile(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		file := filepath.Join(t.TempDir(), "my hosts")
		text := fmt.Sprintf(f.line, "127.0.0.3", 1) + fmt.Sprintf(f.line, "127.0.0.5", 2)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		o := run(t, agentRun(t, []string{"--fake=4", "--slots=2"}, f.mpirun, f.hostfile, file, f.program("hello")))
		o.wants(t, 0)
		require.Equal(t, map[string]int{"127.0.0.3": 1, "127.0.0.5": 2}, perWorker(t, ranks(t, o.out)))
		require.Equal(t, 2, o.report.Sessions)
	})
}

func TestWorkingDirectory(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		dir := filepath.Join(t.TempDir(), "a directory")
		require.NoError(t, os.Mkdir(dir, 0o755))
		c := agentRun(t, []string{"--fake=2"}, f.mpirun, "pwd")
		c.dir = dir
		o := run(t, c)
		o.wants(t, 0)
		require.Equal(t, dir+"\n"+dir+"\n", o.out)
	})
}

func noise(t *testing.T, n int) []byte {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("noise of seed %d", seed)
	data := make([]byte, n)
	source := rand.NewPCG(seed, 1)
	for i := range data {
		data[i] = byte(source.Uint64())
	}
	return data
}

// Standard input of the launcher is that of rank 0. MPICH 4.0 loses input of
// more than 64 KiB with any remote shell ("assert (!closed) failed").
func TestStandardInput(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		data := noise(t, map[string]int{"openmpi": 2 << 20, "mpich": 60_000}[f.name])
		c := agentRun(t, []string{"--fake=2"}, f.mpirun, "sh", "-c", `test $`+f.rank+` != 0 || exec cat`)
		c.stdin = strings.NewReader(string(data))
		o := run(t, c)
		o.wants(t, 0)
		require.Equal(t, sha256.Sum256(data), sha256.Sum256([]byte(o.out)), "%d of %d bytes", len(o.out), len(data))
	})
}

// Output is the rank's own, byte for byte, also when the rank is on the second
// worker.
func TestBinaryOutput(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		data := noise(t, 4<<20)
		file := filepath.Join(t.TempDir(), "noise")
		require.NoError(t, os.WriteFile(file, data, 0o644))
		o := run(t, agentRun(t, []string{"--fake=2"}, f.mpirun, "sh", "-c", `test $`+f.rank+` != 1 || exec cat "$0"`, file))
		o.wants(t, 0)
		require.Equal(t, sha256.Sum256(data), sha256.Sum256([]byte(o.out)), "%d of %d bytes", len(o.out), len(data))
	})
}

// Each daemon would bind its first rank to core 0. Where workers share a
// machine all those ranks would share that core.
func TestRanksAreNotBoundToOneCore(t *testing.T) {
	mine := ownCPUs(t)
	every(t, func(t *testing.T, f family) {
		for _, words := range [][]string{{"-n", "2", f.program("hello")}, {"-n", "4", f.program("hello")}} {
			o := run(t, agentRun(t, []string{"--fake=2", "--slots=2"}, append([]string{f.mpirun}, words...)...))
			o.wants(t, 0)
			for _, r := range ranks(t, o.out) {
				require.Equal(t, mine, r.cpus, "rank %d on %s", r.number, r.worker)
			}
		}
		// One rank on each worker: the case in which Open MPI binds to a core.
		o := run(t, agentRun(t, []string{"--fake=2", "--slots=1"}, f.mpirun, f.program("hello")))
		o.wants(t, 0)
		all := ranks(t, o.out)
		require.Equal(t, slots(1, 2), perWorker(t, all))
		require.Equal(t, []string{mine, mine}, []string{all[0].cpus, all[1].cpus})
	})
}

// The user's own binding is the user's affair. It shows the trap as well: both
// ranks are on one core, and a run that computes takes longer.
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

// ownCPUs is the list of processors that we may use.
func ownCPUs(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	require.FailNow(t, "no Cpus_allowed_list")
	return ""
}

//go:embed testdata/late.c
var lateSource []byte

// Open MPI 4 hangs from 32 ranks on a worker.
func TestRanksThatEndAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	endAtOnce(t, "mpirun.openmpi", "OMPI_MCA_odls_base_max_threads=16", 32)
}

// endAtOnce runs ranks that end before a thread of their daemon has noted the pid. With
// threads, the user's own setting, mpirun never ends; it does with what Muster sets.
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
	require.Equal(t, ranks, strings.Count(o.out, "rank\n"), "all ranks have run: %s", o.err)
	o = run(t, ours)
	o.wants(t, 0)
	require.Equal(t, ranks, strings.Count(o.out, "rank\n"))
}
