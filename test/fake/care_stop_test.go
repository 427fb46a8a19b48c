//go:build mpi && care

package fake

import (
	"embed"
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
)

//go:embed testdata/care.py testdata/care_torch.py testdata/care_jax.py testdata/loaders.py testdata/torchrun.py
var careSources embed.FS

// careProgram is a program that writes a checkpoint when it is told to end, and what starts
// its ranks.
type careProgram struct {
	name      string
	framework string   // "": the command runs in the launcher, as mpirun does
	each      int      // ranks that save, of each worker
	command   []string // a leading @ stands for the directory of the sources
	missing   string   // what it needs and this machine lacks; "": nothing
	lingers   bool     // it does not end when another rank has gone: JAX waits for it
}

// careWay is a way to stop a run. The ranks of all its workers save.
type careWay struct {
	name    string
	verb    string
	workers int
	flags   []string
	stop    func(t *testing.T, j *job)
	code    int
}

func careWays() []careWay {
	worker := func(t *testing.T, j *job) { require.NoError(t, syscall.Kill(j.worker(t), syscall.SIGTERM)) }
	send := func(sig syscall.Signal) func(*testing.T, *job) { return func(_ *testing.T, j *job) { j.signal(sig) } }
	return []careWay{
		{"TERM", "run", 2, []string{"--fake=2"}, send(syscall.SIGTERM), 143},
		{"Ctrl-C", "run", 2, []string{"--fake=2"}, send(syscall.SIGINT), 130},
		{"drain", "run", 1, []string{"--fake=1", "--slots=2"}, worker, 0},
		{"drain of one", "run", 2, []string{"--fake=2"}, worker, 0},
		{"scale-down", "run", 2, []string{"--fake=2", "--min-workers=1"}, worker, 0},
		{"join", "join", 1, []string{"--workers=1"}, send(syscall.SIGTERM), 0},
	}
}

// framework is the Python of an environment that `make frameworks` has made.
func framework(name string) (python, missing string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err.Error()
	}
	found, err := filepath.Glob(filepath.Join(home, ".cache", "muster", "frameworks", name+"-*", "bin", "python"))
	if err != nil || len(found) == 0 {
		return "python", name + " is not installed (make frameworks-ci)"
	}
	return found[0], ""
}

func carePrograms(t *testing.T) []careProgram {
	const python, plain, torchrun = "/usr/bin/python3", "plain", "torchrun"
	torch, noTorch := framework("torch")
	jax, noJAX := framework("jax")
	noNuma := ""
	if _, err := os.Stat("/usr/bin/numactl"); err != nil {
		noNuma = "numactl is not installed"
	}
	all := []careProgram{
		{"loaders: fork", plain, 1, []string{python, "@loaders.py", "fork"}, "", false},
		{"loaders: spawn", plain, 1, []string{python, "@loaders.py", "spawn"}, "", false},
		{"loaders: forkserver", plain, 1, []string{python, "@loaders.py", "forkserver"}, "", false},
		{"compile workers, stand-in", plain, 1, []string{python, "@care.py", "pool"}, "", false},
		{"service in its own session", plain, 1, []string{python, "@care.py", "service"}, "", false},
		{"subprocess", plain, 1, []string{python, "@care.py", "subprocess"}, "", false},
		{"bash script", plain, 1, []string{"bash", "-c", "true; " + python + " @care.py subprocess; exit $?"}, "", false},
		{"numactl", plain, 1, []string{"numactl", "--interleave=all", python, "@loaders.py", "fork"}, noNuma, false},
		{"timeout", plain, 1, []string{"timeout", "1000", python, "@loaders.py", "fork"}, "", false},
		{"mp.spawn, stand-in", plain, 2, []string{python, "@care.py", "spawned"}, "", false},
		{"torchrun, stand-in", torchrun, 2, []string{python, "@torchrun.py", "2", "0.5", python, "@loaders.py", "fork"}, "", false},
		{"PyTorch: DataLoader fork", plain, 1, []string{torch, "@care_torch.py", "fork"}, noTorch, false},
		{"PyTorch: DataLoader spawn", plain, 1, []string{torch, "@care_torch.py", "spawn"}, noTorch, false},
		{"PyTorch: DataLoader forkserver", plain, 1, []string{torch, "@care_torch.py", "forkserver"}, noTorch, false},
		{"PyTorch: compile workers", plain, 1, []string{torch, "@care_torch.py", "compile"}, noTorch, false},
		{"PyTorch: mp.spawn", plain, 2, []string{torch, "@care_torch.py", "spawned"}, noTorch, false},
		{"PyTorch: torchrun", torchrun, 2, []string{torch, "-m", "torch.distributed.run", "--nproc-per-node=2", "@care_torch.py", "fork"}, noTorch, false},
		{"JAX", "jax", 1, []string{jax, "@care_jax.py"}, noJAX, true},
	}
	mpis := mpiruns(t)
	for _, name := range []string{"openmpi4", "openmpi5", "mpich40", "mpich42", "intel"} {
		all = append(all, careProgram{name, "", 1, []string{mpis[name], python, "@loaders.py", "fork"}, "", false})
	}
	return all
}

// ranks is how many ranks save.
func (p careProgram) ranks(w careWay) int {
	if p.framework == "" {
		return 2
	}
	return p.each * w.workers
}

// lacks says why there is no such cell; "": there is one.
func (p careProgram) lacks(w careWay) string {
	if p.framework == "" && w.verb == "join" {
		return "MPI has a launcher"
	}
	return p.missing
}

// TestCareStops: however a run is stopped and whatever its ranks are, each writes its
// checkpoint, and nothing is left. It prints the table.
func TestCareStops(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, careSources))
	sources := filepath.Join(dir, "testdata") + "/"
	programs, ways := carePrograms(t), careWays()
	var mu sync.Mutex
	cells := map[string]string{}
	t.Run("cells", func(t *testing.T) {
		for _, p := range programs {
			for _, w := range ways {
				cell := p.name + "|" + w.name
				cells[cell] = "-"
				if p.lacks(w) != "" {
					continue
				}
				t.Run(p.name+"/"+w.name, func(t *testing.T) {
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
func careCell(t *testing.T, p careProgram, w careWay, sources string) {
	dir := t.TempDir()
	argv := append([]string{"agent", w.verb, "--grace=60s", "--chdir", dir}, w.flags...)
	if p.framework != "" {
		argv = append(argv, "--framework="+p.framework)
	}
	argv = append(argv, "--")
	for _, word := range p.command {
		argv = append(argv, strings.ReplaceAll(word, "@", sources))
	}
	j := start(t, call{argv: argv})
	for rank := range p.ranks(w) {
		require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "rank %d: %s", rank, j.err)
	}
	asked := time.Now()
	w.stop(t, j)
	o := j.wait()
	for rank := range p.ranks(w) {
		number := strconv.Itoa(rank)
		why, _ := os.ReadFile(filepath.Join(dir, "failed."+number))
		require.True(t, exists(dir, "saved."+number), "rank %d: %s\n%s", rank, why, tail(o.err))
		require.False(t, exists(dir, "failed."+number), "rank %d: %s\n%s", rank, why, tail(o.err))
		require.False(t, exists(dir, "asked."+number), "a loader of rank %d was asked", rank)
	}
	if w.code != 0 {
		o.wants(t, w.code)
	}
	if !p.lingers {
		// The next attempt of an elastic run is part of it: PyTorch takes seconds to begin.
		require.Less(t, time.Since(asked), 55*time.Second, "nobody waits for the end of the grace when all have saved")
	}
}

// printCare prints which cells are good, and those left out with why.
func printCare(t *testing.T, programs []careProgram, ways []careWay, cells map[string]string) {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%-32s", "checkpoints, nothing left")
	for _, w := range ways {
		fmt.Fprintf(&text, "%12s", w.name)
	}
	good, all := 0, 0
	var missing []string
	for _, p := range programs {
		fmt.Fprintf(&text, "\n%-32s", p.name)
		for _, w := range ways {
			cell := cells[p.name+"|"+w.name]
			fmt.Fprintf(&text, "%12s", cell)
			switch cell {
			case "1/1":
				good, all = good+1, all+1
			case "0/1":
				all++
			}
		}
		if p.missing != "" && !slices.Contains(missing, p.missing) {
			missing = append(missing, p.missing)
		}
	}
	fmt.Fprintf(&text, "\n%d of %d cells are good", good, all)
	for _, one := range missing {
		fmt.Fprintf(&text, "\nleft out: %s", one)
	}
	t.Log(text.String())
}
