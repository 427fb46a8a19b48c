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
	for rank := range careRanks(p, w) {
		require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "rank %d: %s", rank, j.err)
	}
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
