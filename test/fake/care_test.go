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

// careWay is a way to stop a run. The ranks of all its workers save.
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

// framework is the Python of an environment that `make frameworks` has made.
func framework(name string) (python, missing string) {
	dir, err := program.MadeVenv(name)
	if err != nil {
		return "python", name + " is not installed (make frameworks-ci)"
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
	return all
}

// careRanks is how many ranks save.
func careRanks(p care.Program, w careWay) int {
	if p.Framework == "" {
		return 2
	}
	return p.Each * w.workers
}

// careLacks says why there is no such cell; "": there is one.
func careLacks(p care.Program, w careWay) string {
	if p.Framework == "" && w.verb == "join" {
		return "MPI has a launcher"
	}
	return p.Missing
}

// TestCareStops: however a run is stopped and whatever its ranks are, each writes its
// checkpoint, and nothing is left. It prints the table.
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
					cells[cell] = "0/1" // before any cell is played
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
	argv = append(argv, "--")
	for _, word := range p.Command {
		argv = append(argv, strings.ReplaceAll(word, "@", sources))
	}
	c, stop := call{argv: argv}, w.stop
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
		require.False(t, exists(dir, "asked."+number), "a loader of rank %d was asked", rank)
	}
	if w.code != 0 {
		o.wants(t, w.code)
	}
	if !p.Lingers {
		// The next attempt of an elastic run is part of it: PyTorch takes seconds to begin.
		require.Less(t, time.Since(asked), 55*time.Second, "nobody waits for the end of the grace when all have saved")
	}
}

// printCare prints which cells are good, and those left out with why.
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
	for _, one := range missing {
		fmt.Fprintf(&text, "\nleft out: %s", one)
	}
	t.Log(text.String())
}

// gloo is the environment for ranks of Debian's PyTorch, which test/e2e/torch.sh unpacks.
// Without it, a module stands in that has torch.distributed's names and files.
func gloo(t *testing.T) []string {
	root := os.Getenv("MUSTER_TORCH_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		root = filepath.Join(cache, "muster", "torch")
	}
	packages := filepath.Join(root, "usr/lib/python3/dist-packages")
	if _, err := os.Stat(filepath.Join(packages, "torch/__init__.py")); err == nil {
		libraries := []string{filepath.Join(root, "usr/lib")}
		for _, pattern := range []string{"usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/*blas*", "usr/lib/*-linux-gnu/*lapack*"} {
			found, err := filepath.Glob(filepath.Join(root, pattern))
			require.NoError(t, err)
			libraries = append(libraries, found...)
		}
		return []string{"PYTHONPATH=" + packages, "LD_LIBRARY_PATH=" + strings.Join(libraries, ":")}
	}
	t.Log("no PyTorch (test/e2e/torch.sh unpacks it): a module stands in")
	packages = filepath.Join(t.TempDir(), "site-packages")
	for name, text := range map[string]string{
		"torch/__init__.py":                     "def ones(n): return [1.0] * n\n",
		"torch/distributed/__init__.py":         "from .distributed_c10d import *\n",
		"torch/distributed/distributed_c10d.py": standInGloo,
	} {
		path := filepath.Join(packages, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return []string{"PYTHONPATH=" + packages}
}

// standInGloo waits as gloo does: in a futex, for threads that have the sockets.
const standInGloo = `
import os, socket, sys, threading
def init_process_group(backend, timeout):
    global limit, plain
    limit, plain = timeout.total_seconds(), sys.modules["__main__"].Plain()
def get_rank():
    return plain.rank
def all_reduce(tensor):
    done = threading.Event()
    def meet():
        plain.barrier()
        done.set()
    threading.Thread(target=meet, daemon=True).start()
    if not done.wait(limit):
        raise RuntimeError("[gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting for recv operation to complete")
`

// TestCareHungRankIsNamed: every way to hang, by every way to wait for it.
func TestCareHungRankIsNamed(t *testing.T) {
	env := gloo(t)
	turns := make(chan struct{}, 2)
	for _, transport := range []string{"gloo", "plain", "mpi"} {
		for way := range hungWays {
			for _, failure := range []bool{false, true} {
				c := hungCell{transport: transport, way: way, failure: failure}
				if transport == "mpi" && failure || way == "loop" && transport != "mpi" && !failure {
					continue // ranks of MPI do not give up; a rank that computes is no hang
				}
				if transport == "gloo" {
					c.env = env
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

// TestCareStacksTakeLittleTime: of a failed job of 60 ranks, with and without stacks.
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
