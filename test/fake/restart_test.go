//go:build mpi

package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// stillThere is a program's beginning: it counts the processes of this test's run
// that belong to an earlier attempt, by what /proc says of their environment at
// that moment, and prints their number. The ranks of one attempt begin at once, so
// each is the first to look. The first attempt leaves a child behind that has left
// its group and does not heed TERM; Hydra would wait for one that has a descriptor of its own.
const stillThere = `
old=0
if [ "$MUSTER_ATTEMPT" -gt 0 ]; then
	for e in $(grep -lzs "^FAKE_TEST=$FAKE_TEST$" /proc/[0-9]*/environ); do
		a=$(tr '\0' '\n' 2>/dev/null <$e | sed -n 's/^MUSTER_ATTEMPT=//p')
		s=$(tr '\0' '\n' 2>/dev/null <$e | sed -n 's/^MUSTER_SESSION=//p')
		[ -n "$a" ] && [ "$a" -lt "$MUSTER_ATTEMPT" ] && old=$((old+1)) && echo "old: $e $s $(tr '\0' ' ' <${e%environ}cmdline)"
	done
fi
echo "attempt $MUSTER_ATTEMPT sees $old"
if [ "$MUSTER_ATTEMPT" = 0 ]; then
	setsid bash -c 'for f in /proc/$$/fd/*; do [ ${f##*/} -lt 3 ] || eval "exec ${f##*/}>&-"; done; trap "" TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 </dev/null &
fi
`

// sees asserts that each of n processes of each later attempt saw nothing of an
// earlier one.
func (o outcome) sees(t *testing.T, n int, attempts int) {
	t.Helper()
	require.NotContains(t, o.out, "old: ")
	for a := range attempts {
		require.Equal(t, n, strings.Count(o.out, fmt.Sprintf("attempt %d sees 0\n", a)), "attempt %d: %s", a, tail(o.out))
	}
	require.Len(t, o.report.Attempts, attempts)
	ports := map[int]bool{}
	for i, a := range o.report.Attempts {
		require.Equal(t, i, a.Attempt)
		ports[a.Port] = true
	}
	require.Len(t, ports, attempts, "each attempt has ports of its own")
}

// TestRestartSeesOldProcesses keeps the next tests honest: what they look for is
// found where it is.
func TestRestartSeesOldProcesses(t *testing.T) {
	t.Parallel()
	o := run(t, agentRun(t, []string{"--fake=1", "--framework=plain"}, "bash", "-c", stillThere+"\n"+
		"MUSTER_ATTEMPT=1 bash -c '"+strings.ReplaceAll(stillThere, "'", `'\''`)+"'"))
	o.wants(t, 0)
	require.Regexp(t, `attempt 1 sees [1-9]`, o.out)
}

func TestRankRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := stillThere + `
n=$(cat "$CK/$RANK" 2>/dev/null || echo 0)
echo "rank $RANK from $n port $MASTER_PORT"
while [ $n -lt 20 ]; do
	n=$((n+1)); echo $n >"$CK/$RANK"; sleep 0.05
	[ $RANK.$n.$MUSTER_ATTEMPT = 1.5.0 ] && kill -KILL $$
	[ $RANK.$n.$MUSTER_ATTEMPT = 2.18.1 ] && kill -TERM $$
done
# a rank that has nothing left to do waits for the others, as at a barrier
until [ "$(cat "$CK"/* | sort -u)" = 20 ]; do sleep 0.05; done
`
	c := agentRun(t, []string{"--fake=3", "--framework=plain", "--max-restarts=2"}, "bash", "-c", script)
	c.env = []string{"CK=" + dir}
	o := run(t, c)
	o.wants(t, 0)
	require.Contains(t, o.out, "1: rank 1 from 5 ", "it goes on from its checkpoint")
	n := len(o.report.Attempts)
	require.GreaterOrEqual(t, n, 2)
	o.sees(t, 3, n)
	require.Equal(t, 137, o.report.Attempts[0].Code)
	require.Equal(t, "rank 1", o.report.Attempts[0].Rank)
	require.Equal(t, "127.0.0.3", o.report.Attempts[0].Worker)
	require.Len(t, o.report.Lost, 0)
}

// mpirun is begun again: in its directory, with its environment and its checkpoint.
func TestMPIRestarts(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		dir := t.TempDir()
		// The rank that dies does so in the middle of a barrier of the others, after a second: the
		// worker of one that dies at once may not see it, and MPICH's code 255 is permanent.
		script := stillThere + `
[ -e checkpoint ] && [ $MUSTER_ATTEMPT = 1 ] && exec "$PROGRAM" lines 1 0
[ "$` + f.rank + `" = 1 ] || exec "$PROGRAM" wait
touch checkpoint
exec "$PROGRAM" kill 9 1 1
`
		argv := []string{f.mpirun}
		if f.name == "openmpi" {
			argv = append(argv, "-x", "PROGRAM", "-x", "FAKE_TEST")
		}
		c := agentRun(t, []string{"--fake=3", "--max-restarts=1"}, append(argv, "bash", "-c", script)...)
		c.dir, c.env = dir, []string{"PROGRAM=" + f.program("act")}
		o := run(t, c)
		o.wants(t, 0)
		o.sees(t, 3, 2)
		require.Contains(t, o.err, "agent: attempt 2 of 2: ")
		require.Equal(t, 6, o.report.Sessions)
		for rank := range 3 {
			require.Contains(t, o.out, fmt.Sprintf("rank %d line 0\n", rank))
		}
		t.Logf("%s: attempts of %.1f s and %.1f s", f.name, o.report.Attempts[0].Seconds, o.report.Attempts[1].Seconds)
	})
}

// A killed worker is replaced, and mpirun reaches it.
func TestMPIRestartsWithALostWorker(t *testing.T) {
	every(t, func(t *testing.T, f family) {
		script := `case $MUSTER_ATTEMPT in 0) exec "$PROGRAM" wait;; esac; exec "$PROGRAM" lines 1 0`
		argv := []string{f.mpirun}
		if f.name == "openmpi" {
			argv = append(argv, "-x", "PROGRAM")
		}
		c := agentRun(t, []string{"--fake=3", "--max-restarts=1", "--fake-fault", "kill worker=2 after=2s"}, append(argv, "sh", "-c", script)...)
		c.env = []string{"PROGRAM=" + f.program("act")}
		o := run(t, c)
		o.wants(t, 0)
		require.Len(t, o.report.Attempts, 2)
		require.Equal(t, "127.0.0.4", o.report.Attempts[0].Worker)
		require.Contains(t, o.out, "rank 2 line 0\n")
	})
}

// A stop that comes between a death and the next attempt leaves nothing.
func TestStoppedInARestart(t *testing.T) {
	t.Parallel()
	j := start(t, agentRun(t, []string{"--fake=3", "--framework=plain", "--max-restarts=9"}, "bash", "-c",
		stillThere+`[ $RANK = 0 ] && kill -KILL $$; sleep inf`))
	j.err.await(t, "attempt 3 of 10 in 1 s")
	j.signal(syscall.SIGTERM)
	o := j.wait()
	o.wants(t, 143)
}

// The time from a rank's death to the next attempt's first line, with 20 workers.
func TestRestartTakesLittle(t *testing.T) {
	dir := t.TempDir()
	died, first := filepath.Join(dir, "died"), filepath.Join(dir, "first")
	script := `if [ $MUSTER_ATTEMPT = 1 ]; then
	[ -e "$0" ] && ln -s "$(date +%s%N)" "$1" 2>/dev/null; exit 0; fi
	[ $RANK = 7 ] || exec sleep inf; sleep 1; date +%s%N >"$0"; kill -KILL $$`
	o := run(t, agentRun(t, []string{"--fake=20", "--framework=plain", "--max-restarts=1"}, "bash", "-c", script, died, first))
	o.wants(t, 0)
	took := stamp(t, died, first)
	t.Logf("20 workers: %.2f s from the death of a rank to the next attempt's first line", took.Seconds())
	record(t, "fake-restart", figure.Series{Unit: "s", Samples: []float64{took.Seconds()}, Reduce: "max"},
		figure.Row{Name: "20 fake workers: a rank's death to the new attempt's first line", Op: "<=", Bar: 3, Unit: "s"})
}

// stamp is the time between two files' contents, the second one being a link that
// whoever came first has made.
func stamp(t *testing.T, from, to string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	target, err := os.Readlink(to)
	require.NoError(t, err)
	var a, b int64
	_, err = fmt.Sscan(string(text)+" "+target, &a, &b)
	require.NoError(t, err)
	return time.Duration(b - a)
}

// Code 137 of a process that the kernel killed for its memory is permanent, unless
// oom is listed. The workers' view of their cgroup is a directory of ours, in a mount
// namespace, where the rank counts the kill that it does itself.
func TestOutOfMemoryIsPermanent(t *testing.T) {
	t.Parallel()
	for list, attempts := range map[string]int{"137,lost": 1, "+oom": 2} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			c := agentRun(t, []string{"--fake=2", "--framework=plain", "--max-restarts=1", "--restart-on=" + list}, "bash", "-c",
				`[ $MUSTER_ATTEMPT = 0 ] || exit 0; [ $RANK = 0 ] && { echo oom_kill 1 >/sys/fs/cgroup/memory.events; kill -KILL $$; }; sleep inf`)
			c.argv = append([]string{"unshare", "-rm", "sh", "-c",
				`mount -t tmpfs none /sys/fs/cgroup && echo oom_kill 0 >/sys/fs/cgroup/memory.events && exec "$0" "$@"`}, c.argv...)
			o := run(t, c)
			require.Len(t, o.report.Attempts, attempts, tail(o.err))
			require.Equal(t, 137, o.report.Attempts[0].Code)
			if attempts == 1 {
				o.wants(t, 137)
				require.Contains(t, o.err, "agent: no restart: a process ran out of memory (oom), which is permanent\n")
				return
			}
			o.wants(t, 0)
		})
	}
}
