//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/care"
)

// laid writes the program of that file name into a directory of its own, and returns its path.
func laid(t *testing.T, name string) string {
	source, err := care.Source(name)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, source, 0o644))
	return path
}

// TestStopsLeaveLoadersToTheirRank: a rank whose data come from other processes writes its
// checkpoint, however it is told to stop and however it has started these.
func TestStopsLeaveLoadersToTheirRank(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	source, standIn := laid(t, "loaders.py"), laid(t, "torchrun.py")
	onWorkers := map[string][]string{"plain": {"--framework=plain"}, "torchrun": {"--framework=torchrun"}}
	for way, c := range map[string]struct {
		verb   string
		places map[string][]string // flags by name
		stop   func(t *testing.T, j *job)
	}{
		"TERM to agent run":  {"run", map[string][]string{"launcher": nil, "plain": onWorkers["plain"], "torchrun": onWorkers["torchrun"]}, func(t *testing.T, j *job) { j.signal(syscall.SIGTERM) }},
		"INT to agent run":   {"run", map[string][]string{"launcher": nil, "plain": onWorkers["plain"]}, func(t *testing.T, j *job) { j.signal(syscall.SIGINT) }},
		"TERM to the worker": {"run", map[string][]string{"rsh": nil, "mpirun.openmpi": nil, "mpiexec.mpich": nil, "plain": onWorkers["plain"], "torchrun": onWorkers["torchrun"]}, func(t *testing.T, j *job) { require.NoError(t, syscall.Kill(j.worker(t), syscall.SIGTERM)) }},
		"TERM to agent join": {"join", map[string][]string{"pod": {"--workers=1"}}, func(t *testing.T, j *job) { j.signal(syscall.SIGTERM) }},
		"INT to agent join":  {"join", map[string][]string{"pod": {"--workers=1"}}, func(t *testing.T, j *job) { j.signal(syscall.SIGINT) }},
	} {
		for place, flags := range c.places {
			for _, method := range []string{"fork", "spawn", "forkserver"} {
				t.Run(way+"/"+place+"/"+method, func(t *testing.T) {
					t.Parallel()
					dir, n := t.TempDir(), 1
					command := []string{python, source, method}
					switch place {
					case "torchrun":
						n, command = 2, append([]string{python, standIn, "2", "0.5"}, command...)
					case "mpirun.openmpi", "mpiexec.mpich":
						command = append([]string{place, "-n", "1"}, command...)
					case "rsh":
						command = []string{"agent", "rsh", "127.0.0.2", "cd " + dir + " && exec " + python + " " + source + " " + method}
					}
					argv := append([]string{"agent", c.verb, "--grace=40s", "--chdir", dir}, flags...)
					if c.verb == "run" {
						argv = append(argv, "--fake=1")
					}
					j := start(t, call{argv: append(append(argv, "--"), command...)})
					for rank := range n {
						require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "%s", j.err)
					}
					asked := time.Now()
					c.stop(t, j)
					o := j.wait()
					for rank := range n {
						number := strconv.Itoa(rank)
						require.False(t, exists(dir, "failed."+number), "a loader of rank %d ended: %s", rank, tail(o.err))
						require.True(t, exists(dir, "saved."+number), "rank %d: %s", rank, tail(o.err))
						require.False(t, exists(dir, "asked."+number), "a loader of rank %d was asked", rank)
					}
					require.Less(t, time.Since(asked), 20*time.Second, "nobody waits when all have saved")
				})
			}
		}
	}
}
