package tally

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// Scripted is an mpirun that a script has started.
type Scripted struct {
	called string
	Over   bool
	code   int
	known  bool // the exit code is known
	killed bool
}

func (s *Scripted) Name() string           { return s.called }
func (s *Scripted) Is(other Launcher) bool { return other == Launcher(s) }
func (s *Scripted) Ended() bool            { return s.Over }
func (s *Scripted) Exit() (int, int, bool) { return s.code, 0, s.known }
func (s *Scripted) Kill()                  { s.killed = true }
func (s *Scripted) Close()                 {}

// TestJudgeScript checks how the results of the mpiruns of a script change the script's exit code.
func TestJudgeScript(t *testing.T) {
	type events func(t *Tally, first, second *Scripted)
	end := func(m *Scripted, code int) { m.Over, m.code, m.known = true, code, true }
	fails := func(t *Tally, m *Scripted, id string) {
		t.Called("w-1", id, m)
		t.Report("w-1", wire.ReportRecord{Session: id, Kind: wire.ReportRank, PID: 9, Command: "pi", Rank: "1", MPI: true, Code: 3})
	}
	for name, tc := range map[string]struct {
		happens events
		code    int // of the script
		want    int
		why     string
	}{
		"no mpirun": {func(*Tally, *Scripted, *Scripted) {}, 0, 0, ""},
		"success": {func(t *Tally, first, _ *Scripted) {
			t.Called("w-1", "1", first)
			end(first, 0)
		}, 0, 0, ""},
		"mpirun exited with 0 despite a failure": {func(t *Tally, first, _ *Scripted) {
			fails(t, first, "1")
			end(first, 0)
		}, 0, 3, "bash exited with 0, but worker w-1: rank 1, pi (pid 9), exited with 3"},
		"mpirun's code is unknown": {func(t *Tally, first, _ *Scripted) {
			fails(t, first, "1")
			first.Over = true
		}, 0, 3, "bash exited with 0, but worker w-1: rank 1, pi (pid 9), exited with 3"},
		"the script hides mpirun's code": {func(t *Tally, first, _ *Scripted) {
			fails(t, first, "1")
			end(first, 3)
		}, 0, 3, "bash exited with 0, but worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3"},
		"the rank was not seen": {func(t *Tally, first, _ *Scripted) {
			t.Called("w-1", "1", first)
			end(first, 3)
		}, 0, 3, "bash exited with 0, but mpirun exited with 3"},
		"a daemon was killed": {func(t *Tally, first, _ *Scripted) {
			t.Called("w-1", "1", first)
			t.Report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportDaemon, PID: 7, Command: "prted", Code: 137, Signal: 9})
			end(first, 0)
		}, 0, 137, "bash exited with 0, but worker w-1: its prted (pid 7) was killed by SIGKILL"},
		"a retry": {func(t *Tally, first, second *Scripted) {
			fails(t, first, "1")
			end(first, 3)
			t.Called("w-1", "2", second)
			end(second, 0)
		}, 0, 0, ""},
		"the first mpirun's reports come late": {func(t *Tally, first, second *Scripted) {
			t.Called("w-1", "1", first)
			end(first, 0)
			t.Called("w-1", "2", second)
			fails(t, first, "1")
			end(second, 0)
		}, 0, 0, ""},
		"the second mpirun fails": {func(t *Tally, first, second *Scripted) {
			t.Called("w-1", "1", first)
			end(first, 0)
			fails(t, second, "2")
			end(second, 0)
		}, 0, 3, "bash exited with 0, but worker w-1: rank 1, pi (pid 9), exited with 3"},
		"one of two concurrent mpiruns fails": {func(t *Tally, first, second *Scripted) {
			t.Called("w-1", "1", first)
			t.Called("w-1", "2", second)
			t.Called("w-2", "3", first)
			fails(t, first, "1")
			end(first, 3)
			end(second, 0)
		}, 0, 3, "bash exited with 0, but worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 3"},
		"the script's own code is kept": {func(t *Tally, first, _ *Scripted) {
			fails(t, first, "1")
			end(first, 3)
		}, 4, 4, "worker w-1: rank 1, pi (pid 9), exited with 3; bash exited with 4"},
		"an mpirun's failure before a success is not the cause": {func(t *Tally, first, second *Scripted) {
			fails(t, first, "1")
			end(first, 3)
			t.Called("w-1", "2", second)
			end(second, 0)
		}, 4, 4, "bash exited with 4"},
		"a session by hand does not count": {func(t *Tally, _, _ *Scripted) {
			t.Called("w-1", "1", nil)
			t.Answered("1", wire.ExitRecord{Code: 1}, nil)
		}, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			account := New()
			tc.happens(account, &Scripted{called: "mpirun"}, &Scripted{called: "mpiexec"})
			account.Conclude(tc.code != 0)
			e := verdict.Evidence{Command: verdict.Command{Name: "bash", Rule: verdict.ExitScript, Code: tc.code}, Workers: 3}
			account.Testify(&e)
			e.Opened = 3
			e = e.Latest()
			got := verdict.Judge(e)
			require.Equal(t, verdict.Verdict{Code: tc.want, Why: tc.why}, got)
			if tc.code == 0 && tc.want != 0 {
				require.Contains(t, verdict.Hint(e, got), "--exit=command")
			}
			e.Rule = verdict.ExitCommand
			require.Equal(t, tc.code, verdict.Judge(e).Code, "--exit=command uses the command's exit code")
		})
	}
}

// TestIllLaunches checks that only an mpirun that still runs is ended because of its trouble.
func TestIllLaunches(t *testing.T) {
	account := New()
	first, second := &Scripted{called: "mpirun"}, &Scripted{called: "mpiexec"}
	account.Called("w-1", "1", first)
	account.Called("w-1", "2", second)
	account.Called("w-1", "by hand", nil)
	for _, id := range []string{"1", "2", "by hand"} {
		account.Report("w-1", wire.ReportRecord{Session: id, Kind: wire.ReportDaemon, PID: 7, Command: "orted", Code: 137, Signal: 9})
	}
	require.Len(t, account.Ill(), 2)
	first.Over = true
	require.Contains(t, account.Ill(), 2)
	require.Len(t, account.Ill(), 1)
	require.Equal(t, "mpiexec", account.KillLaunch(2))
	require.True(t, second.killed)
}
