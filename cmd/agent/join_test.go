//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestATorchrunThatTrainsAlone checks that each member reports once that torchrun trains alone,
// unless the user asked for that.
func TestATorchrunThatTrainsAlone(t *testing.T) {
	const alone = "agent: torchrun starts a separate job on each of the 2 members; its environment lacks PET_NNODES and similar variables, which describe the members\n"
	const script = `exec env -u PET_NNODES bash -c 'l=torchrun; exec -a $l sleep 5'`
	for name, row := range map[string]struct {
		script string
		flags  []string
		said   int
	}{
		"variables of the members removed": {script, nil, 1},
		"variables of the members set":     {`exec bash -c 'l=torchrun; exec -a $l sleep 2'`, nil, 0},
		"explicit framework":               {`exec env -u PET_NNODES bash -c 'l=torchrun; exec -a $l sleep 2'`, []string{"--framework=plain"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pods := newGang(t, 2, row.script, row.flags...).startAll()
			all(t, pods, 0)
			for _, p := range pods {
				require.Equal(t, row.said, strings.Count(p.out.String(), alone), p.out.String())
			}
		})
	}
}

func TestMembersMeetAndEndTogether(t *testing.T) {
	g := newGang(t, 3, `echo "rank $RANK of $WORLD_SIZE meets at $MASTER_ADDR:$MASTER_PORT, attempt $MUSTER_ATTEMPT, $X"
		env > $SHARED/env-$RANK; sleep 0.$RANK; echo done > $SHARED/done-$RANK`, "--env=X=y")
	pods := []*pod{g.start(1), g.start(2)}
	g.knocked(2) // rank 0 starts late
	pods = append(pods, g.start(0))
	all(t, pods, 0)
	meet := ""
	for _, p := range pods {
		line, _, _ := strings.Cut(p.out.String(), "\n")
		require.Regexp(t, same(`^rank %d of 3 meets at 127\.0\.0\.1:[23]\d\d\d\d, attempt 0, y$`, p.rank), line)
		_, rest, _ := strings.Cut(line, "meets")
		require.True(t, meet == "" || meet == rest, "%q and %q", meet, rest)
		meet = rest
		require.Equal(t, 1, lines(p.out.String()), "the member prints nothing else: %s", p.out)
	}
	require.Len(t, g.files("done-*"), 3)
	for _, name := range g.files("env-*") {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(text), token)
		require.Contains(t, string(text), "MUSTER_SESSION=")
	}
}

func TestAFailureEndsAllMembers(t *testing.T) {
	g := newGang(t, 3, `trap 'echo stopped > $SHARED/stopped-$RANK; exit 0' TERM
		echo $$ > $SHARED/pid-$RANK
		if [ $RANK = 2 ]; then while [ $(ls $SHARED/pid-* | wc -l) -lt 3 ]; do sleep 0.05; done; exit 7; fi
		sleep 1000 & wait`)
	pods := g.startAll()
	all(t, pods, 7)
	for _, p := range pods {
		require.Equal(t, 1, strings.Count(p.out.String(), "agent: rank 2 on job-2 exited with 7"), "rank %d: %s", p.rank, p.out)
	}
	require.Len(t, g.files("pid-*"), 3)
}

func TestMissingMember(t *testing.T) {
	g := newGang(t, 4, `true`, "--timeout=3s")
	pods := []*pod{g.start(0), g.start(2), g.start(3, "MUSTER_TOKEN=another-token-of-a-test")}
	require.Equal(t, 76, pods[2].code())
	require.Contains(t, pods[2].out.String(), "agent: rank 0 has another token")
	require.NotContains(t, pods[2].out.String(), "another-token")
	for _, p := range pods[:2] {
		require.Equal(t, 75, p.code(), "%s", p.out)
		require.Contains(t, p.out.String(), "rank 1: has not joined")
		require.Contains(t, p.out.String(), "rank 3: has not joined; a process at 127.0.0.1 that claims rank 3 has another token")
	}
	require.Contains(t, pods[0].out.String(), "of 4 members joined within 3s: ")
}

// TestJobsWithOneToken checks that two jobs with the same token and address do not mix.
func TestJobsWithOneToken(t *testing.T) {
	g := newGang(t, 2, `exit 0`)
	first := g.start(0, "MUSTER_JOB=train")
	stranger := g.start(1, "MUSTER_JOB=tune")
	require.Equal(t, 64, stranger.code(), "%s", stranger.out)
	require.Contains(t, stranger.out.String(), `agent: rank 1 on "job-1" belongs to job "tune", rank 0 on job-0 to job "train"`)
	require.Contains(t, stranger.out.String(), "hint: give each job a token and a --coordinator of its own")
	all(t, []*pod{first, g.start(1, "MUSTER_JOB=train")}, 0)
}

// TestMembersWaitWithoutLimit checks that with --timeout=0 neither rank 0 nor another member gives
// up.
func TestMembersWaitWithoutLimit(t *testing.T) {
	g := newGang(t, 3, `true`, "--timeout=0s")
	pods := []*pod{g.start(2)}
	g.knocked(1)
	all(t, append(pods, g.start(0), g.start(1)), 0)
}

func TestRankZeroNeverComes(t *testing.T) {
	g := newGang(t, 2, `true`, "--timeout=1s")
	p := g.start(1)
	require.Equal(t, 75, p.code())
	require.Contains(t, p.out.String(), "agent: not all 2 members joined within 1s; rank 0 at "+g.address+": nothing listens there yet")

	g.address = "no-such-name.invalid:9377"
	p = g.start(1)
	require.Equal(t, 75, p.code())
	require.Contains(t, p.out.String(), "rank 0 at no-such-name.invalid:9377: the name does not resolve")
	require.Contains(t, p.out.String(), "hint: pods have such names if `subdomain` names a headless Service")
}

func TestMembersThatContradictEachOther(t *testing.T) {
	g := newGang(t, 3, `sleep 0.2`, "--timeout=20s")
	zero, one := g.start(0), g.start(1)
	twin := g.start(1, "MUSTER_POD_NAME=job-9")
	first, second := sort(one, twin)
	require.Equal(t, 64, second.code(), "%s", second.out)
	require.Regexp(t, `agent: two members have rank 1: job-\d \(127.0.0.1\), which joined first, and job-\d \(127.0.0.1\)`, second.out.String())
	wrong := g.start(2, "--workers=5")
	require.Equal(t, 64, wrong.code())
	require.Contains(t, wrong.out.String(), "agent: rank 2 on job-2 has --workers=5, rank 0 on job-0 has --workers=3")
	wrong = g.start(2, "--procs-per-worker=2")
	require.Equal(t, 64, wrong.code())
	require.Contains(t, wrong.out.String(), "rank 2 on job-2 has --procs-per-worker=2, rank 0 on job-0 has --procs-per-worker=0")
	all(t, []*pod{zero, first, g.start(2)}, 0)
}

// sort returns which of two members still runs, and which has ended.
func sort(a, b *pod) (lives, ended *pod) {
	select {
	case <-b.ended:
		return a, b
	case <-a.ended:
		return b, a
	case <-time.After(patience):
		require.FailNow(a.t, "both members still run")
	}
	return nil, nil
}

// TestTwoRankZeros checks that the second rank 0 at the same address ends with an error, and that
// the job completes with the first.
func TestTwoRankZeros(t *testing.T) {
	g := newGang(t, 2, `true`, "--timeout=30s")
	zero := g.start(0)
	zero, second := sort(zero, g.start(0))
	require.Equal(t, 64, second.code(), "%s", second.out)
	require.Contains(t, second.out.String(), "address already in use")
	all(t, []*pod{zero, g.start(1)}, 0)
}

func TestServersAreStoppedAtTheEnd(t *testing.T) {
	g := newGang(t, 3, `case "$TF_CONFIG" in *'"type":"chief"'*) sleep 1; exit 0;; esac; exec sleep 1000`,
		"--framework=tensorflow", "--roles=chief=1,ps=1,worker=1")
	all(t, g.startAll(), 0)
}

func TestRestart(t *testing.T) {
	g := newGang(t, 3, `for f in $SHARED/pid-*; do [ -e $f ] && kill -0 $(cat $f) 2>/dev/null && [ ${f##*-} != $MUSTER_ATTEMPT ] && echo "$f lives" > $SHARED/alive; done
		echo $$ > $SHARED/pid-$RANK-$MUSTER_ATTEMPT; echo $MASTER_PORT > $SHARED/port-$MUSTER_ATTEMPT
		(trap '' TERM; sleep 1001) &
		[ $MUSTER_ATTEMPT = 2 ] && exit 0
		sleep 0.5; [ $RANK = 1 ] && exit 9; sleep 1000`, "--max-restarts=2", "--restart-on=+9", "--grace=2s")
	pods := g.startAll()
	all(t, pods, 0)
	for _, p := range pods {
		require.Contains(t, p.out.String(), "attempt 2 of 3: rank 1 on job-1 exited with 9")
		require.Contains(t, p.out.String(), "attempt 3 of 3 in 1 s: rank 1 on job-1 exited with 9")
	}
	require.Empty(t, g.file("alive"))
	require.Len(t, g.files("pid-*"), 9)
	require.Len(t, map[string]bool{g.file("port-0"): true, g.file("port-1"): true, g.file("port-2"): true}, 3)
}

func TestPermanentEndsAreNotRetried(t *testing.T) {
	g := newGang(t, 2, `[ $RANK = 1 ] && exit 9; sleep 1000`, "--max-restarts=2")
	pods := g.startAll()
	all(t, pods, 9)
	for _, p := range pods {
		require.Contains(t, p.out.String(), "agent: rank 1 on job-1 exited with 9; no restart: exit code 9, which is permanent\nhint: --restart-on=+9 adds it")
	}
}

// twoAttempts blocks in attempt 0 and succeeds in attempt 1. The shell blocks without a child
// process, because a child would be the process that gets the signal to stop. mkfifo is such a
// child, so it runs before the shell reports its start.
const twoAttempts = `mkfifo $SHARED/never-$$; echo "started $RANK $MUSTER_ATTEMPT" >> $SHARED/started; [ $MUSTER_ATTEMPT = 0 ] || exit 0
	read x < $SHARED/never-$$`

// TestALostMember kills a member without notice and replaces it.
func TestALostMember(t *testing.T) {
	g := newGang(t, 3, twoAttempts, "--max-restarts=1")
	pods := g.startAll()
	require.Eventually(t, func() bool { return lines(g.file("started")) == 2 }, patience, 10*time.Millisecond)
	pods[2].signal(syscall.SIGKILL)
	<-pods[2].ended
	all(t, []*pod{pods[0], pods[1], g.start(2)}, 0)
	require.Contains(t, pods[0].out.String(), "attempt 2 of 2: rank 2 on job-2: its pod or container was replaced")
	require.Equal(t, 6, lines(g.file("started"))+1)
}

// TestRankZeroIsReplaced replaces rank 0 during the barrier and during an attempt.
func TestRankZeroIsReplaced(t *testing.T) {
	g := newGang(t, 3, twoAttempts, "--max-restarts=1")
	zero := g.start(0)
	one, r := g.startVia(1)
	r.seats(t)
	zero.signal(syscall.SIGKILL)
	<-zero.ended
	zero = g.start(0)
	two := g.start(2)
	require.Eventually(t, func() bool { return lines(g.file("started")) == 2 }, patience, 10*time.Millisecond)
	zero.signal(syscall.SIGKILL)
	<-zero.ended
	zero = g.start(0)
	all(t, []*pod{zero, one, two}, 0)
	require.Contains(t, zero.out.String(), "rank 0 was lost during attempt 0: job-0 is its replacement")
	require.Contains(t, g.file("started"), "started 0 1")
}

func TestRankZeroIsLostForGood(t *testing.T) {
	g := newGang(t, 3, twoAttempts)
	pods := g.startAll()
	require.Eventually(t, func() bool { return lines(g.file("started")) == 2 }, patience, 10*time.Millisecond)
	pods[0].signal(syscall.SIGKILL)
	<-pods[0].ended
	zero := g.start(0) // the replacement reports the loss, and no restart is allowed
	all(t, []*pod{zero, pods[1], pods[2]}, 76)
	require.Contains(t, pods[1].out.String(), "rank 0 was lost during attempt 0")
}

// TestCuts checks that breaking connections repeatedly has no effect.
func TestCuts(t *testing.T) {
	g := newGang(t, 2, `i=0; while [ ! -e $SHARED/go ]; do sleep 0.05; done; echo end $RANK`, "--lease=24s")
	zero := g.start(0)
	one, r := g.startVia(1)
	for range 10 {
		r.seats(t)
		r.cut()
	}
	r.seats(t)
	require.NoError(t, os.WriteFile(filepath.Join(g.dir, "go"), nil, 0o644))
	all(t, []*pod{zero, one}, 0)
	require.Equal(t, "end 1\n", one.out.String())
	require.Equal(t, "end 0\n", zero.out.String())
}

// TestCutForTheLease checks that a member that is cut off for the lease ends, and that rank 0 ends
// too.
func TestCutForTheLease(t *testing.T) {
	g := newGang(t, 2, `sleep 1000`, "--lease=24s")
	zero := g.start(0)
	one, r := g.startVia(1)
	require.Eventually(t, func() bool { return len(children(t, one)) == 1 && len(children(t, zero)) == 1 }, patience, 10*time.Millisecond)
	r.l.Close()
	r.cut()
	require.Equal(t, 76, one.code())
	require.Contains(t, one.out.String(), "agent: lost rank 0 for 24s: rank 0 at "+r.l.Addr().String())
	require.Equal(t, 76, zero.code())
	require.Contains(t, zero.out.String(), "agent: rank 1 on job-1: it did not come back within 24s")
}

// children returns the pids of a member's direct child processes.
func children(t *testing.T, p *pod) []string {
	tasks, err := filepath.Glob(same("/proc/%d/task/*/children", p.cmd.Process.Pid))
	require.NoError(t, err)
	var all []string
	for _, task := range tasks {
		if text, err := os.ReadFile(task); err == nil {
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return all
}

// TestAFrozenMember freezes a member. The member does not answer, so its replacement gets the seat.
// The frozen member ends after it continues.
func TestAFrozenMember(t *testing.T) {
	g := newGang(t, 2, twoAttempts, "--max-restarts=1", "--lease=24s", "--timeout=15s")
	pods := g.startAll()
	require.Eventually(t, func() bool { return lines(g.file("started")) == 1 }, patience, 10*time.Millisecond)
	pods[1].signal(syscall.SIGSTOP)
	old := children(t, pods[1])
	require.Len(t, old, 1)
	next := g.start(1)
	all(t, []*pod{pods[0], next}, 0)
	require.Contains(t, pods[0].out.String(), "attempt 2 of 2: rank 1 on job-1: its pod or container was replaced")
	pods[1].signal(syscall.SIGCONT)
	require.Equal(t, 75, pods[1].code(), "the old member must end, because rank 0 has ended: %s", pods[1].out)
	require.NoDirExists(t, "/proc/"+old[0])
}

func TestTermInTheBarrier(t *testing.T) {
	g := newGang(t, 3, `true`, "--timeout=5s")
	zero := g.start(0)
	one, r := g.startVia(1)
	r.seats(t)
	one.signal(syscall.SIGTERM)
	require.Equal(t, 143, one.code(), "%s", one.out)
	require.Equal(t, 75, zero.code())
	require.Regexp(t, `rank 1: job-1 left \ds ago: its pod was told to stop by SIGTERM, rank 2: has not joined`, zero.out.String())

	zero = g.start(0)
	one, r = g.startVia(1)
	r.seats(t)
	zero.signal(syscall.SIGTERM)
	require.Equal(t, 143, zero.code(), "%s", zero.out)
	all(t, []*pod{one, g.start(2), g.start(0)}, 0)
}

func TestSeveralProcessesPerMember(t *testing.T) {
	g := newGang(t, 2, `echo "$RANK $LOCAL_RANK $WORLD_SIZE" > $SHARED/rank-$RANK; [ $RANK = 3 ] && { sleep 1; exit 5; }; sleep 1000`, "--procs-per-worker=2", "--framework=torch")
	pods := g.startAll()
	all(t, pods, 5)
	require.Contains(t, pods[0].out.String(), "agent: rank 3 on job-1 exited with 5\n")
	require.Len(t, g.files("rank-*"), 4)
	require.Equal(t, "3 1 4", g.file("rank-3"))
}

// TestPeersFailFirst checks that the departure of a member takes precedence over the failures that
// the departure causes.
func TestPeersFailFirst(t *testing.T) {
	const script = `echo $$ > $SHARED/pid-$RANK-$MUSTER_ATTEMPT; [ $MUSTER_ATTEMPT = 0 ] || exit 0
		if [ $RANK = 1 ]; then exec sleep 1000; fi
		while [ ! -s $SHARED/pid-1-0 ] || [ -e /proc/$(cat $SHARED/pid-1-0)/exe ]; do sleep 0.02; done; exit 1`
	for name, sig := range map[string]syscall.Signal{"lost": syscall.SIGKILL, "preempted": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			g := newGang(t, 2, script, "--max-restarts=1")
			pods := g.startAll()
			require.Eventually(t, func() bool { return g.file("pid-1-0") != "" && g.file("pid-0-0") != "" }, patience, 10*time.Millisecond)
			below := children(t, pods[1])
			pods[1].signal(sig)
			<-pods[1].ended
			if sig == syscall.SIGKILL { // like the kernel, which kills the whole pid namespace
				pid, err := strconv.Atoi(below[0])
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(pid, sig))
				pods[0].says("rank 0 on job-0 exited with 1") // the failure must be known before the replacement starts
			}
			all(t, []*pod{pods[0], g.start(1)}, 0)
			want := "attempt 2 of 2: rank 1 on job-1 was lost: its pod or container was replaced; rank 0 on job-0 exited with 1"
			if sig == syscall.SIGTERM {
				want = "attempt 2 of 3: rank 1 on job-1 was (ended because its worker was )?told to stop from outside" // rank 0 is told to end, but may have failed before that
			}
			require.Regexp(t, want, pods[0].out.String())
		})
	}
}
