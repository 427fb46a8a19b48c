//go:build mpi

package fake

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/care"
)

// TestMPIUnderRandomCuts cuts every link twenty times, at random moments after mpirun's start.
func TestMPIUnderRandomCuts(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		seed := rand.Uint64()
		t.Logf("cuts of seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 2))
		flags := []string{"--fake=3", "--slots=2"}
		for range 20 {
			flags = append(flags, "--fake-fault", fmt.Sprintf("drop after=%dms", 1+random.IntN(1500)))
		}
		const count = 150 // lines of a rank, 10 ms apart: they last as long as the cuts
		o := run(t, agentRun(t, flags, f.mpirun, f.program("act"), "lines", fmt.Sprint(count), "10"))
		o.wants(t, 0)
		for rank := range 6 {
			var want []string
			for i := range count {
				want = append(want, fmt.Sprintf("rank %d line %d", rank, i))
			}
			var got []string
			for line := range strings.Lines(o.out) {
				if strings.HasPrefix(line, fmt.Sprintf("rank %d ", rank)) {
					got = append(got, strings.TrimSuffix(line, "\n"))
				}
			}
			require.Equal(t, want, got)
		}
		require.Equal(t, 3, o.report.Sessions, "each daemon must start exactly once")
		require.Greater(t, o.report.Redials, 0)
		t.Logf("%d redials, gaps %v ms", o.report.Redials, o.report.GapsMS)
	})
}

//go:embed testdata/times_out.py
var timesOutSource []byte

// timesOut returns a run of two ranks of times_out.py.
func timesOut(t *testing.T, f family, way string, flags ...string) call {
	script := filepath.Join(t.TempDir(), "times_out.py")
	require.NoError(t, os.WriteFile(script, timesOutSource, 0o644))
	c := agentRun(t, append([]string{"--fake=2", "--grace=5s"}, flags...), f.mpirun, "-n", "2", "/usr/bin/python3", script, way)
	if f.name == "mpich" {
		c.env = []string{"MPI4PY_PATH=" + mpi4pyMPICH(), "LD_LIBRARY_PATH=" + mpi4pyMPICH(), "MPI4PY_MPIABI=mpich"}
	}
	return c
}

// TestMPIRankThatOthersWaitForIsNamed checks that the user learns more than which rank timed out.
func TestMPIRankThatOthersWaitForIsNamed(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		o := run(t, timesOut(t, f, "load"))
		// A proxy of MPICH 4.0 may crash when a rank ends, and takes the other rank with it.
		for again := 0; again < 4 && strings.Contains(o.err, "demux engine error waiting for event"); again++ {
			o = run(t, timesOut(t, f, "load"))
		}
		o.wants(t, 1)
		const sentence = `rank 1 on 127\.0\.0\.3 exited with 1 \(timed out\); rank 0 on 127\.0\.0\.2 was not waiting: sleeping at times_out\.py:22 load_batch\. Look at rank 0 first\.`
		require.Regexp(t, `(?m)^agent: `+sentence+`$`, o.err)
		require.Regexp(t, `(?m)^agent:   rank 0 on 127\.0\.0\.2: sleeping at times_out\.py:22 load_batch \(`, o.err)
		require.Len(t, o.report.Blames, 1)
		require.Equal(t, "failure", o.report.Blames[0].When)
		require.Regexp(t, sentence, o.report.Blames[0].Sentence)
	})
}

// laid writes the program with that file name to a new directory, and returns its path.
func laid(t *testing.T, name string) string {
	source, err := care.Source(name)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, source, 0o644))
	return path
}

// TestStopsLeaveLoadersToTheirRank checks that a rank whose data come from other processes writes its checkpoint,
// for each way to stop it and each way to start these processes.
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
					j.up(dir, n)
					asked := time.Now()
					c.stop(t, j)
					o := j.wait()
					for rank := range n {
						number := strconv.Itoa(rank)
						require.False(t, exists(dir, "failed."+number), "a loader of rank %d ended: %s", rank, tail(o.err))
						require.True(t, exists(dir, "saved."+number), "rank %d: %s", rank, tail(o.err))
						require.False(t, exists(dir, "asked."+number), "a loader of rank %d got a signal", rank)
					}
					require.Less(t, time.Since(asked), 20*time.Second, "the job must not wait when all ranks have saved")
				})
			}
		}
	}
}

// container is an agent whose workers and members each have their own memory cgroup, as a pod's container has,
// mounted where a container sees it.
const container = `#!/bin/bash
case $1 in worker|join) ;; run) exec "${0%/*}/agent-launcher" "$@" ;; *) exec -a "$0" "$AGENT" "$@" ;; esac
g=$(mktemp -d "$GROUPS_DIR/w.XXXXXX") && echo 96M >"$g/$LIMIT" && echo $$ >"$g/cgroup.procs" || exit 70
exec unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$g" "$SEEN_AT" "$AGENT" "$@"
`

// containers returns a directory with an agent whose workers have a memory limit, so that the kernel kills a
// process that exceeds it. It needs root and a memory cgroup with room for the limits.
func containers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	seen, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(seen); err != nil {
		seen, limit = "/sys/fs/cgroup", "memory.max"
	}
	groups, err := os.MkdirTemp(seen, "culprit")
	require.NoError(t, err, "a kill for memory needs root, and a memory cgroup in which groups can be made")
	t.Cleanup(func() { removeGroups(t, groups) })
	if limit == "memory.max" {
		for _, above := range []string{seen, groups} {
			require.NoError(t, os.WriteFile(filepath.Join(above, "cgroup.subtree_control"), []byte("+memory"), 0o644))
		}
	}
	launcher, err := os.ReadFile(filepath.Join(bin, "agent-launcher"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent-launcher"), launcher, 0o755))
	script := "#!/bin/bash\nAGENT=" + filepath.Join(bin, "agent") + " GROUPS_DIR=" + groups + " SEEN_AT=" + seen + " LIMIT=" + limit + "\n" + container[len("#!/bin/bash\n"):]
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent"), []byte(script), 0o755))
	return dir
}

// removeGroups removes cgroups whose last processes are ending.
func removeGroups(t *testing.T, groups string) {
	for range 100 {
		list, err := filepath.Glob(filepath.Join(groups, "w.*"))
		require.NoError(t, err)
		for _, one := range append(list, groups) {
			err = os.Remove(one)
		}
		if err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: not removed", groups)
}
