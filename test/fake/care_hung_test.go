//go:build mpi && care

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
