//go:build mpi

package fake

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStopLetsRanksOfMpirunSave: mpirun is told to end when its ranks have saved, on workers
// and in the launcher.
func TestStopLetsRanksOfMpirunSave(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		for way, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT} {
			for place, c := range map[string]struct {
				flags []string
				n     int
				shell bool
			}{
				"on workers":                  {[]string{"--fake=2"}, 2, false},
				"in the launcher, too":        {[]string{"--fake=1", "--launcher-slots=1"}, 2, false},
				"on workers, behind a script": {[]string{"--fake=2"}, 2, true},
			} {
				t.Run(way+"/"+place, func(t *testing.T) {
					t.Parallel()
					dir, source := t.TempDir(), laid(t, "loaders.py")
					command := []string{f.mpirun, "-n", strconv.Itoa(c.n), "/usr/bin/python3", source, "fork"}
					if c.shell {
						line := fmt.Sprintf("%s -n %d /usr/bin/python3 %s fork; exit $?", f.mpirun, c.n, source)
						command = []string{"bash", "-c", line}
					}
					j := start(t, agentRun(t, append([]string{"--grace=40s", "--chdir", dir}, c.flags...), command...))
					for rank := range c.n {
						require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "%s", j.err)
					}
					asked := time.Now()
					j.signal(sig)
					o := j.wait()
					for rank := range c.n {
						number := strconv.Itoa(rank)
						require.False(t, exists(dir, "failed."+number), "a loader of rank %d ended: %s", rank, tail(o.err))
						require.True(t, exists(dir, "saved."+number), "rank %d: %s", rank, tail(o.err))
					}
					o.wants(t, 128+int(sig))
					require.Less(t, time.Since(asked), 20*time.Second, "nobody waits when all have saved")
					require.Contains(t, o.err, ": stopping 2 ranks, up to 40 s for saving; a second one kills at once\n")
					require.Regexp(t, `agent: 2 ranks ended by themselves after 2(\.\d)? s\n`, o.err)
					require.Len(t, o.report.Stopped, 2)
				})
			}
		}
	})
}

// TestCompiledRanksSave: an MPI's library may catch signals of its own.
func TestCompiledRanksSave(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		dir := t.TempDir()
		j := start(t, agentRun(t, []string{"--fake=2", "--grace=20s", "--chdir", dir}, f.mpirun, "-n", "2", f.program("act"), "save", "2"))
		j.out.await(t, "ready\n")
		j.signal(syscall.SIGTERM)
		o := j.wait()
		for rank := range 2 {
			require.True(t, exists(dir, "saved."+strconv.Itoa(rank)), "rank %d: %s", rank, tail(o.err))
		}
		o.wants(t, 143)
		require.Contains(t, o.err, ": stopping 2 ranks, up to 20 s for saving; a second one kills at once\n")
	})
}

// TestRanksOfMpirunThatDoNotSaveComeLast: a rank that would die of the signal gets it from
// mpirun, when those that handle it have ended: mpirun ends all ranks when one has died.
func TestRanksOfMpirunThatDoNotSaveComeLast(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		dir, source := t.TempDir(), laid(t, "loaders.py")
		line := fmt.Sprintf(`if [ "${%s}" = 1 ]; then touch up.1; exec sleep 4817; fi; exec /usr/bin/python3 %s fork`, f.rank, source)
		j := start(t, agentRun(t, []string{"--fake=2", "--grace=40s", "--chdir", dir}, f.mpirun, "-n", "2", "sh", "-c", line))
		for rank := range 2 {
			require.Eventually(t, func() bool { return exists(dir, "up."+strconv.Itoa(rank)) }, patience, 10*time.Millisecond, "%s", j.err)
		}
		j.signal(syscall.SIGTERM)
		o := j.wait()
		require.True(t, exists(dir, "saved.0"), tail(o.err))
		o.wants(t, 143)
		require.Contains(t, o.err, "agent: SIGTERM: stopping 1 rank, up to 40 s for saving; a second one kills at once\n")
		require.Less(t, o.took, 30*time.Second)
	})
}

// TestSecondSignalKillsSavingRanksOfMpirun: nobody who asks twice waits for a save.
func TestSecondSignalKillsSavingRanksOfMpirun(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		dir := t.TempDir()
		const line = `trap "touch asked; sleep 60" TERM; touch up; while :; do sleep 0.1; done`
		j := start(t, agentRun(t, []string{"--fake=1", "--grace=80s", "--chdir", dir}, f.mpirun, "-n", "1", "bash", "-c", line))
		require.Eventually(t, func() bool { return exists(dir, "up") }, patience, 10*time.Millisecond, "%s", j.err)
		time.Sleep(300 * time.Millisecond) // the trap is set
		j.signal(syscall.SIGTERM)
		require.Eventually(t, func() bool { return exists(dir, "asked") }, patience, 10*time.Millisecond, "%s", j.err)
		time.Sleep(time.Second) // a second signal that comes at once is taken for an echo
		again := time.Now()
		j.signal(syscall.SIGTERM)
		o := j.wait()
		o.wants(t, 143)
		require.Less(t, time.Since(again), 20*time.Second)
	})
}
