package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// scripted is an mpirun that a script has started.
type scripted struct {
	called string
	over   bool
	code   int
	known  bool // its code
	killed bool
}

func (s *scripted) name() string           { return s.called }
func (s *scripted) is(other mpirun) bool   { return other == mpirun(s) }
func (s *scripted) ended() bool            { return s.over }
func (s *scripted) exit() (int, int, bool) { return s.code, 0, s.known }
func (s *scripted) kill()                  { s.killed = true }
func (s *scripted) close()                 {}

// TestJudgeScript: what the mpiruns of a script did, and what becomes of the script's code.
func TestJudgeScript(t *testing.T) {
	type events func(t *tally, first, second *scripted)
	end := func(m *scripted, code int) { m.over, m.code, m.known = true, code, true }
	fails := func(t *tally, m *scripted, id string) {
		t.called("w-1", id, m)
		t.report("w-1", wire.ReportRecord{Session: id, Kind: wire.ReportRank, PID: 9, Command: "pi", Rank: "1", MPI: true, Code: 3})
	}
	for name, tc := range map[string]struct {
		happens events
		code    int // of the script
		want    int
		why     string
	}{
		"no mpirun": {func(*tally, *scripted, *scripted) {}, 0, 0, ""},
		"all is well": {func(t *tally, first, _ *scripted) {
			t.called("w-1", "1", first)
			end(first, 0)
		}, 0, 0, ""},
		"mpirun lied": {func(t *tally, first, _ *scripted) {
			fails(t, first, "1")
			end(first, 0)
		}, 0, 3, "bash said 0, but worker w-1: rank 1, pi (pid 9), exited with 3"},
		"mpirun's code is not known": {func(t *tally, first, _ *scripted) {
			fails(t, first, "1")
			first.over = true
		}, 0, 3, "bash said 0, but worker w-1: rank 1, pi (pid 9), exited with 3"},
		"the script hides mpirun's code": {func(t *tally, first, _ *scripted) {
			fails(t, first, "1")
			end(first, 3)
		}, 0, 3, "bash said 0, but worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3"},
		"nobody saw the rank": {func(t *tally, first, _ *scripted) {
			t.called("w-1", "1", first)
			end(first, 3)
		}, 0, 3, "bash said 0, but mpirun exited with 3"},
		"a daemon was killed": {func(t *tally, first, _ *scripted) {
			t.called("w-1", "1", first)
			t.report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportDaemon, PID: 7, Command: "prted", Code: 137, Signal: 9})
			end(first, 0)
		}, 0, 137, "bash said 0, but worker w-1: its prted (pid 7) was killed by SIGKILL"},
		"a retry": {func(t *tally, first, second *scripted) {
			fails(t, first, "1")
			end(first, 3)
			t.called("w-1", "2", second)
			end(second, 0)
		}, 0, 0, ""},
		"the first one's reports come late": {func(t *tally, first, second *scripted) {
			t.called("w-1", "1", first)
			end(first, 0)
			t.called("w-1", "2", second)
			fails(t, first, "1")
			end(second, 0)
		}, 0, 0, ""},
		"the second one fails": {func(t *tally, first, second *scripted) {
			t.called("w-1", "1", first)
			end(first, 0)
			fails(t, second, "2")
			end(second, 0)
		}, 0, 3, "bash said 0, but worker w-1: rank 1, pi (pid 9), exited with 3"},
		"one of two at a time fails": {func(t *tally, first, second *scripted) {
			t.called("w-1", "1", first)
			t.called("w-1", "2", second)
			t.called("w-2", "3", first)
			fails(t, first, "1")
			end(first, 3)
			end(second, 0)
		}, 0, 3, "bash said 0, but worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3"},
		"its own code stands": {func(t *tally, first, _ *scripted) {
			fails(t, first, "1")
			end(first, 3)
		}, 4, 4, "worker w-1: rank 1, pi (pid 9), exited with 3; bash exited with 4"},
		"a failure that it went on from is not the cause": {func(t *tally, first, second *scripted) {
			fails(t, first, "1")
			end(first, 3)
			t.called("w-1", "2", second)
			end(second, 0)
		}, 4, 4, "bash exited with 4"},
		"sessions by hand tell their callers": {func(t *tally, _, _ *scripted) {
			t.called("w-1", "1", nil)
			t.answered("1", wire.ExitRecord{Code: 1}, nil)
		}, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			account := newTally()
			tc.happens(account, &scripted{called: "mpirun"}, &scripted{called: "mpiexec"})
			account.conclude(tc.code != 0)
			e := verdict.Evidence{Command: verdict.Command{Name: "bash", Rule: verdict.ExitScript, Code: tc.code}, Workers: 3}
			account.testify(&e)
			e.Opened = 3
			e = e.Latest()
			got := verdict.Judge(e)
			require.Equal(t, verdict.Verdict{Code: tc.want, Why: tc.why}, got)
			if tc.code == 0 && tc.want != 0 {
				require.Contains(t, verdict.Hint(e, got), "--exit=command")
			}
			e.Rule = verdict.ExitCommand
			require.Equal(t, tc.code, verdict.Judge(e).Code, "--exit=command takes the command's word")
		})
	}
}

// Only an mpirun that still runs is ended for its trouble.
func TestIllLaunches(t *testing.T) {
	account := newTally()
	first, second := &scripted{called: "mpirun"}, &scripted{called: "mpiexec"}
	account.called("w-1", "1", first)
	account.called("w-1", "2", second)
	account.called("w-1", "by hand", nil)
	for _, id := range []string{"1", "2", "by hand"} {
		account.report("w-1", wire.ReportRecord{Session: id, Kind: wire.ReportDaemon, PID: 7, Command: "orted", Code: 137, Signal: 9})
	}
	require.Len(t, account.ill(), 2)
	first.over = true
	require.Contains(t, account.ill(), 2)
	require.Len(t, account.ill(), 1)
	require.Equal(t, "mpiexec", account.killLaunch(2))
	require.True(t, second.killed)
}
