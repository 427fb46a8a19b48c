//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/join"
)

// TestFailedAttemptsAreKept checks that each member's report and termination message list every
// attempt, in order.
func TestFailedAttemptsAreKept(t *testing.T) {
	for name, row := range map[string]struct {
		last string // behavior of the third attempt
		code int
		ends string // end of the first line of the termination message
	}{
		"the last attempt failed too": {`sleep 0.3; [ $RANK = 1 ] && kill -SEGV $$`, 139, "rank 1 on job-1 was killed by SIGSEGV; no restart: all 3 attempts are used up"},
		"the last attempt succeeded":  {`exit 0`, 0, "the job ended with 0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGang(t, 2, `case $RANK.$MUSTER_ATTEMPT in 1.0) sleep 0.3; exit 9;; 0.1) sleep 0.3; exit 8;; ?.2) `+row.last+`;; esac; sleep 1000`,
				"--max-restarts=2", "--restart-on=any", "--grace=2s")
			var pods []*pod
			for rank := range 2 {
				log := filepath.Join(g.dir, same("log-%d", rank))
				require.NoError(t, os.WriteFile(log, nil, 0o644))
				pods = append(pods, g.start(rank, "--report="+filepath.Join(g.dir, same("report-%d", rank)), "MUSTER_TERMINATION_LOG="+log))
			}
			all(t, pods, row.code)
			for rank := range 2 {
				require.Equal(t, "agent join: "+row.ends+"\n"+
					"earlier attempt 0 (exit code 9): rank 1 on job-1 exited with 9\n"+
					"earlier attempt 1 (exit code 8): rank 0 on job-0 exited with 8", g.file(same("log-%d", rank)))
				var r join.Report
				require.NoError(t, json.Unmarshal([]byte(g.file(same("report-%d", rank))), &r))
				require.Equal(t, row.code, r.Exit)
				require.Equal(t, rank, r.Member)
				require.Len(t, r.Attempts, 3)
				for i, want := range []string{"0 9 job-1 rank 1", "1 8 job-0 rank 0", same("2 %d", row.code)} {
					a := r.Attempts[i]
					require.Contains(t, same("%d %d %s %s", a.Attempt, a.Code, a.Worker, a.Rank), want)
				}
			}
		})
	}
}

// TestANewRankZeroKeepsFailedAttempts checks that a new rank 0 learns about failed attempts from
// the members.
func TestANewRankZeroKeepsFailedAttempts(t *testing.T) {
	g := newGang(t, 2, `case $RANK.$MUSTER_ATTEMPT in 1.0) sleep 0.3; exit 9;; ?.2) exit 0;; esac; echo $MUSTER_ATTEMPT >> $SHARED/started; exec sleep 1000`,
		"--max-restarts=2", "--restart-on=+9", "--grace=2s")
	report := func(rank int) string { return filepath.Join(g.dir, same("report-%d", rank)) }
	zero, one := g.start(0), g.start(1, "--report="+report(1))
	require.Eventually(t, func() bool { return strings.Count(g.file("started"), "1") == 2 }, patience, 10*time.Millisecond)
	zero.signal(syscall.SIGKILL)
	<-zero.ended
	all(t, []*pod{g.start(0, "--report="+report(0)), one}, 0)
	for rank := range 2 {
		var r join.Report
		require.NoError(t, json.Unmarshal([]byte(g.file(same("report-%d", rank))), &r))
		require.Len(t, r.Attempts, 3)
		require.Equal(t, "rank 1 on job-1 exited with 9", r.Attempts[0].Why)
		require.Equal(t, "rank 0 was lost during attempt 1: job-0 is its replacement", r.Attempts[1].Why)
		require.Equal(t, 0, r.Attempts[2].Code)
	}
}
