//go:build mpi && care

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/care"
	"github.com/musterhq/muster/test/suite/program"
)

// careWay is a way to stop a run. The ranks of all its workers write a checkpoint.
type careWay struct {
	name    string
	verb    string
	workers int
	flags   []string
	stop    func(t *testing.T, j *job) // nil: Ctrl-C on a terminal
	code    int
}

func careWays() []careWay {
	worker := func(t *testing.T, j *job) { require.NoError(t, syscall.Kill(j.worker(t), syscall.SIGTERM)) }
	send := func(sig syscall.Signal) func(*testing.T, *job) { return func(_ *testing.T, j *job) { j.signal(sig) } }
	return []careWay{
		{"TERM", "run", 2, []string{"--fake=2"}, send(syscall.SIGTERM), 143},
		{"INT", "run", 2, []string{"--fake=2"}, send(syscall.SIGINT), 130},
		{"Ctrl-C", "run", 2, []string{"--fake=2"}, nil, 130},
		{"drain", "run", 1, []string{"--fake=1", "--slots=2"}, worker, 0},
		{"drain of one", "run", 2, []string{"--fake=2"}, worker, 0},
		{"scale-down", "run", 2, []string{"--fake=2", "--min-workers=1"}, worker, 0},
		{"join", "join", 1, []string{"--workers=1"}, send(syscall.SIGTERM), 0},
	}
}

// framework returns the Python of a framework's virtual environment. If there is none, missing says how to make it.
func framework(name string) (python, missing string) {
	dir, err := program.MadeVenv(name)
	if err != nil {
		return "python", name + " is not installed (make care installs it)"
	}
	return filepath.Join(dir, "bin", "python"), ""
}

func carePrograms(t *testing.T) []care.Program {
	const python = "/usr/bin/python3"
	at := care.Tools{Python: python, Numactl: "numactl", Missing: map[string]string{}}
	at.Torch, at.Missing["torch"] = framework("torch")
	at.JAX, at.Missing["jax"] = framework("jax")
	if _, err := os.Stat("/usr/bin/numactl"); err != nil {
		at.Missing["numactl"] = "numactl is not installed"
	}
	all, mpis := care.Programs(at), mpiruns(t)
	for _, name := range []string{"openmpi4", "openmpi5", "mpich40", "mpich42", "intel"} {
		all = append(all, care.MPI(name, mpis[name], python))
	}
	return append(all, care.Horovod())
}

// horovod returns the environment in which a run finds horovodrun, its Python and PyTorch.
func horovod(t *testing.T) []string {
	dir, err := program.MadeVenv("horovod")
	require.NoError(t, err)
	torch, err := program.MadeVenv("torch")
	require.NoError(t, err)
	packages, err := filepath.Glob(filepath.Join(torch, "lib/python3*/site-packages"))
	require.NoError(t, err)
	require.Len(t, packages, 1)
	return []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "PYTHONPATH=" + packages[0], "OMP_NUM_THREADS=1"}
}

// careRanks returns how many ranks write a checkpoint.
func careRanks(p care.Program, w careWay) int {
	if p.Framework == "" {
		return 2
	}
	return p.Each * w.workers
}

// careLacks returns why a cell is impossible, or "".
func careLacks(p care.Program, w careWay) string {
	if p.Framework == "" && w.verb == "join" {
		return "MPI has a launcher"
	}
	if p.Name == care.Horovod().Name && w.name == "scale-down" {
		return "ranks of elastic Horovod go on without the worker, with a script of another kind"
	}
	return p.Missing
}

// TestCareStops checks that each rank writes its checkpoint and that no process is left, for each kind of rank and
// each way to stop a run. It prints the table.
func TestCareStops(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, care.Lay(dir))
	sources := dir + "/"
	programs, ways := carePrograms(t), careWays()
	var mu sync.Mutex
	cells := map[string]string{}
	t.Run("cells", func(t *testing.T) {
		for _, p := range programs {
			for _, w := range ways {
				cell := p.Name + "|" + w.name
				cells[cell] = "-"
				if careLacks(p, w) != "" {
					continue
				}
				t.Run(p.Name+"/"+w.name, func(t *testing.T) {
					cells[cell] = "0/1" // until the cell has been played
					t.Parallel()
					careCell(t, p, w, sources)
					mu.Lock()
					defer mu.Unlock()
					cells[cell] = "1/1"
				})
			}
		}
	})
	printCare(t, programs, ways, cells)
}

// careCell plays a cell.
func careCell(t *testing.T, p care.Program, w careWay, sources string) {
	dir := t.TempDir()
	argv := append([]string{"agent", w.verb, "--grace=60s", "--chdir", dir}, w.flags...)
	if p.Framework != "" {
		argv = append(argv, "--framework="+p.Framework)
	}
	c, stop := call{}, w.stop
	if p.Name == care.Horovod().Name {
		c.env = horovod(t)
	}
	argv = append(argv, "--")
	for _, word := range p.Command {
		argv = append(argv, strings.ReplaceAll(word, "@", sources))
	}
	c.argv = argv
	if stop == nil {
		theirs, keys := terminal(t)
		c.stdin = theirs
		stop = func(t *testing.T, _ *job) {
			_, err := keys.WriteString(ctrlC)
			require.NoError(t, err)
		}
	}
	j := start(t, c)
	j.up(dir, careRanks(p, w))
	asked := time.Now()
	stop(t, j)
	o := j.wait()
	for rank := range careRanks(p, w) {
		number := strconv.Itoa(rank)
		why, _ := os.ReadFile(filepath.Join(dir, "failed."+number))
		require.True(t, exists(dir, "saved."+number), "rank %d: %s\n%s", rank, why, tail(o.err))
		require.False(t, exists(dir, "failed."+number), "rank %d: %s\n%s", rank, why, tail(o.err))
		require.False(t, exists(dir, "asked."+number), "a loader of rank %d got a signal", rank)
	}
	if w.code != 0 {
		o.wants(t, w.code)
	}
	if !p.Lingers {
		// The next attempt of an elastic run is included, and PyTorch takes seconds to start.
		require.Less(t, time.Since(asked), 55*time.Second, "the job must not wait for the end of the grace when all ranks have saved")
	}
}

// printCare prints which cells passed. A program that is not installed fails the test, because its cells would be
// missing from the table.
func printCare(t *testing.T, programs []care.Program, ways []careWay, cells map[string]string) {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%-32s", "checkpoints, nothing left")
	for _, w := range ways {
		fmt.Fprintf(&text, "%12s", w.name)
	}
	good, all := 0, 0
	var missing []string
	for _, p := range programs {
		fmt.Fprintf(&text, "\n%-32s", p.Name)
		for _, w := range ways {
			cell := cells[p.Name+"|"+w.name]
			fmt.Fprintf(&text, "%12s", cell)
			switch cell {
			case "1/1":
				good, all = good+1, all+1
			case "0/1":
				all++
			}
		}
		if p.Missing != "" && !slices.Contains(missing, p.Missing) {
			missing = append(missing, p.Missing)
		}
	}
	fmt.Fprintf(&text, "\n%d of %d cells are good", good, all)
	t.Log(text.String())
	require.Empty(t, missing)
}

// TestCareHungRankIsNamed plays every way to hang with every way to wait.
func TestCareHungRankIsNamed(t *testing.T) {
	torch, missing := framework("torch")
	require.Empty(t, missing)
	turns := make(chan struct{}, 2)
	for _, transport := range []string{"gloo", "plain", "mpi"} {
		for way := range hungWays {
			for _, failure := range []bool{false, true} {
				c := hungCell{transport: transport, way: way, failure: failure}
				if transport == "mpi" && failure || way == "loop" && transport != "mpi" && !failure {
					continue // MPI ranks do not give up, and a rank that computes does not hang
				}
				if transport == "gloo" {
					c.python = torch
				}
				t.Run(fmt.Sprintf("%s/%s/gives up %t", transport, way, failure), func(t *testing.T) {
					t.Parallel()
					turns <- struct{}{}
					defer func() { <-turns }()
					c.named(t)
				})
			}
		}
	}
}

// TestCareStacksTakeLittleTime measures a failed job of 60 ranks, with and without stacks.
func TestCareStacksTakeLittleTime(t *testing.T) {
	const fails = `import os, time
if os.environ["RANK"] == "7": time.sleep(4); raise RuntimeError("[gloo] Timed out waiting 4000ms for recv operation")
time.sleep(1000)`
	for name, job := range map[string]struct{ flags, command []string }{
		"group":   {[]string{"--fake=4", "--procs-per-worker=15", "--framework=torch"}, []string{"/usr/bin/python3", "-c", fails}},
		"openmpi": {[]string{"--fake=4", "--slots=15"}, []string{"mpirun.openmpi", "-n", "60", "/usr/bin/python3", "-c", strings.ReplaceAll(fails, `"RANK"`, `"OMPI_COMM_WORLD_RANK"`)}},
	} {
		t.Run(name, func(t *testing.T) {
			median := func(flags ...string) time.Duration {
				var all []time.Duration
				for range 5 {
					o := run(t, agentRun(t, append(slices.Clone(job.flags), flags...), job.command...))
					o.wants(t, 1)
					all = append(all, o.took)
				}
				slices.Sort(all)
				return all[len(all)/2]
			}
			with, without := median(), median("--stacks=never")
			t.Logf("a failed job of 60 ranks ends after %.2f s with stacks and %.2f s without: %.2f s more", with.Seconds(), without.Seconds(), (with - without).Seconds())
			require.Less(t, with-without, 2*time.Second)
		})
	}
}

func TestCareZeroSwallowed(t *testing.T) { play(t, "zero-swallowed") }
func TestCareZeroEarned(t *testing.T)    { play(t, "zero-earned") }
