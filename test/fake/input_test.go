//go:build mpi

package fake

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/suite/care"
)

// TestTypedByHand runs mpirun by hand, beside a launcher whose command does nothing.
func TestTypedByHand(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		j := start(t, agentRun(t, []string{"--fake=2", "--slots=2"}, "sh", "-c", "echo ready; exec sleep inf"))
		await(t, j.out, "ready\n")
		for range 2 { // the second time over the same links
			o := run(t, call{argv: []string{"sh", "-c", `eval "$(agent env)" && exec "$@"`, "sh", f.mpirun, f.program("hello")}, env: []string{"MUSTER_DIR=" + j.dir}})
			o.wants(t, 0)
			require.Equal(t, map[string]int{"127.0.0.2": 2, "127.0.0.3": 2}, perWorker(t, ranks(t, o.out)))
		}
		o := run(t, call{argv: []string{"agent", "hosts"}, env: []string{"MUSTER_DIR=" + j.dir}})
		require.Equal(t, "127.0.0.2 slots=2\n127.0.0.3 slots=2\n", o.out)
		j.signal(syscall.SIGTERM)
		last := j.wait()
		last.wants(t, 143)
		require.Equal(t, 4, last.report.Sessions)
	})
}

// ctrlC is the byte that a terminal turns into SIGINT for its foreground processes.
const ctrlC = "\x03"

// apart is the time between two signals, so that they do not count as one.
const apart = 300 * time.Millisecond

// terminal returns a terminal for a program, and the side on which a person types and reads.
func terminal(t *testing.T) (theirs, keys *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { keys.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { theirs.Close() })
	return theirs, keys
}

// TestCtrlCLetsRanksSave presses Ctrl-C. The terminal sends SIGINT to mpirun too, which would end ranks and their
// loaders at once.
func TestCtrlCLetsRanksSave(t *testing.T) {
	t.Parallel()
	sources := t.TempDir()
	require.NoError(t, care.Lay(sources))
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=2", "--grace=60s", "--chdir", dir}, mpirun, "-n", "2", "/usr/bin/python3", filepath.Join(sources, "loaders.py"), "fork")
			c.stdin = theirs
			j := start(t, c)
			j.up(dir, 2)
			_, err := keys.WriteString(ctrlC)
			require.NoError(t, err)
			o := j.wait()
			o.wants(t, 130)
			require.Contains(t, o.err, "agent: 2 ranks ended by themselves")
			for _, rank := range []string{"0", "1"} {
				require.False(t, exists(dir, "asked."+rank), "a loader of rank %s got a signal\n%s", rank, o.err)
				require.True(t, exists(dir, "saved."+rank), "rank %s has no checkpoint\n%s", rank, o.err)
			}
		})
	}
}

// TestCtrlCLetsRanksOverSSHSave checks that horovodrun and deepspeed get a terminal's Ctrl-C after their ranks have
// saved: they end the ssh of each rank when they get it. They cannot read from the terminal.
func TestCtrlCLetsRanksOverSSHSave(t *testing.T) {
	t.Parallel()
	sources := t.TempDir()
	require.NoError(t, care.Lay(sources))
	for _, name := range []string{"horovodrun", "deepspeed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			launcher := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(launcher, []byte(`#!/bin/sh
trap 'ls > interrupted; kill $pids' INT
read line && exit 1
for rank in 0 1; do
	ssh 127.0.0.$((rank + 2)) "cd $PWD && RANK=$rank exec /usr/bin/python3 $SOURCES/loaders.py fork" &
	pids="$pids $!"
done
wait
wait
`), 0o755))
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=2", "--grace=60s", "--chdir", dir}, launcher, "train.py")
			c.stdin, c.env = theirs, []string{"SOURCES=" + sources}
			j := start(t, c)
			j.up(dir, 2)
			_, err := keys.WriteString(ctrlC)
			require.NoError(t, err)
			o := j.wait()
			o.wants(t, 130)
			if when, err := os.ReadFile(filepath.Join(dir, "interrupted")); err == nil {
				require.Contains(t, string(when), "saved.0\nsaved.1\n")
			}
			for _, rank := range []string{"0", "1"} {
				require.False(t, exists(dir, "asked."+rank), "a loader of rank %s was asked\n%s", rank, o.err)
				require.True(t, exists(dir, "saved."+rank), "rank %s has no checkpoint\n%s", rank, o.err)
			}
		})
	}
}

// TestCtrlCTwiceKills checks that the second Ctrl-C kills, whatever the ranks do after the first one.
func TestCtrlCTwiceKills(t *testing.T) {
	t.Parallel()
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=2", "--grace=10m"}, mpirun, "-n", "2", "bash", "-c", `trap "echo asked" TERM INT; echo up; while :; do sleep 0.1; done`)
			c.stdin = theirs
			j := start(t, c)
			for _, word := range []string{"up", "asked"} {
				require.Eventually(t, func() bool { return strings.Count(j.out.String(), word) >= 2 }, patience, 10*time.Millisecond, "%s: %s", word, j.err)
				time.Sleep(apart)
				_, err := keys.WriteString(ctrlC)
				require.NoError(t, err)
			}
			o := j.wait()
			o.wants(t, 130)
			require.Contains(t, o.err, "agent: SIGINT again: killing "+mpirun)
		})
	}
}

// TestMpirunReadsTheTerminal checks that mpirun stays in the foreground.
func TestMpirunReadsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, mpirun := range []string{"mpirun.openmpi", "mpiexec.mpich"} {
		t.Run(mpirun, func(t *testing.T) {
			t.Parallel()
			theirs, keys := terminal(t)
			c := agentRun(t, []string{"--fake=1"}, mpirun, "-n", "1", "cat")
			c.stdin = theirs
			j := start(t, c)
			_, err := keys.WriteString("a line\n\x04")
			require.NoError(t, err)
			o := j.wait()
			o.wants(t, 0)
			require.Contains(t, o.out, "a line")
		})
	}
}
