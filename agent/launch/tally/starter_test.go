package tally

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// TestJudgeStarters checks how the sessions of a launcher such as deepspeed change the command's
// exit code.
func TestJudgeStarters(t *testing.T) {
	deepspeed, elastic, trials := framework.Starter{Name: "deepspeed"}, framework.Starter{Name: "horovodrun", Elastic: true}, framework.Starter{Name: "deepspeed", Trials: true}
	const train = "cd /x; python3 train.py"
	order := func(t *Tally, by *Scripted, says framework.Starter, worker, id, line string) {
		t.Called(worker, id, nil)
		t.Ordered(worker, id, line, by, says)
	}
	end := func(t *Tally, id string, code int) { t.Answered(id, wire.ExitRecord{Code: code}, nil) }
	over := func(m *Scripted, code int) { m.Over, m.code, m.known = true, code, true }
	for name, tc := range map[string]struct {
		happens func(t *Tally, first, second *Scripted)
		name    string // of the command
		code    int    // of the command
		want    int
		why     string
	}{
		"success": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 0)
		}, "deepspeed", 0, 0, ""},
		"a session failed": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			order(t, first, deepspeed, "w-2", "2", train)
			end(t, "2", 3)
			end(t, "1", 4)
		}, "deepspeed", 0, 3, "deepspeed exited with 0, but its session on worker w-2 exited with 3 (and 1 more session)"},
		"a session failed, and the launcher noticed": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 3)
		}, "deepspeed", 1, 1, "worker w-1: its session exited with 3; deepspeed exited with 1"},
		"in a script": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 3)
		}, "bash", 0, 3, "bash exited with 0, but deepspeed's session on worker w-1 exited with 3"},
		"the script hides its code": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 0)
			over(first, 3)
		}, "bash", 0, 3, "bash exited with 0, but deepspeed exited with 3"},
		"the script started a second deepspeed": {func(t *Tally, first, second *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 3)
			over(first, 3)
			order(t, second, deepspeed, "w-1", "2", train)
			end(t, "2", 0)
		}, "bash", 0, 0, ""},
		"the script started an mpirun": {func(t *Tally, first, second *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 3)
			over(first, 3)
			t.Called("w-1", "2", second)
		}, "bash", 0, 0, ""},
		"a probe failed": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", "which ninja")
			end(t, "1", 1)
		}, "deepspeed", 0, 0, ""},
		"a retry succeeded": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 255)
			order(t, first, deepspeed, "w-1", "2", train)
			end(t, "2", 0)
		}, "deepspeed", 0, 0, ""},
		"a retry failed": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 4)
			order(t, first, deepspeed, "w-1", "2", train)
			end(t, "2", 5)
		}, "deepspeed", 0, 4, "deepspeed exited with 0, but its session on worker w-1 exited with 4 (and 1 more session)"},
		"another command succeeded": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 4)
			order(t, first, deepspeed, "w-1", "2", "cd /x; python3 eval.py")
			end(t, "2", 0)
		}, "deepspeed", 0, 4, "deepspeed exited with 0, but its session on worker w-1 exited with 4"},
		"another worker succeeded": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 4)
			order(t, first, deepspeed, "w-2", "2", train)
			end(t, "2", 0)
		}, "deepspeed", 0, 4, "deepspeed exited with 0, but its session on worker w-1 exited with 4"},
		"two ranks of a worker, one failed": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			order(t, first, deepspeed, "w-1", "2", train)
			end(t, "1", 4)
			end(t, "2", 0)
		}, "deepspeed", 0, 4, "deepspeed exited with 0, but its session on worker w-1 exited with 4"},
		"the launcher ended the session itself": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			t.Left("1")
			t.Answered("1", wire.ExitRecord{Code: 143, Reason: wire.ReasonStopped}, nil)
		}, "deepspeed", 0, 0, ""},
		"a session that the launcher ended is not a successful retry": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			end(t, "1", 4)
			order(t, first, deepspeed, "w-1", "2", train)
			t.Answered("2", wire.ExitRecord{Code: 143, Reason: wire.ReasonStopped}, nil)
		}, "deepspeed", 0, 4, "deepspeed exited with 0, but its session on worker w-1 exited with 4"},
		"the session still runs": {func(t *Tally, first, _ *Scripted) {
			order(t, first, deepspeed, "w-1", "1", train)
			over(first, 0)
		}, "deepspeed", 0, 76, "deepspeed exited with 0, but its session on worker w-1 still ran when it ended"},
		"unknown host": {func(t *Tally, first, _ *Scripted) {
			t.RefusedOrder(errors.New(`unknown host "x"`), first, deepspeed)
		}, "deepspeed", 0, 255, `deepspeed exited with 0, but its call reached no worker: unknown host "x"`},
		"an elastic launcher with one success": {func(t *Tally, first, _ *Scripted) {
			order(t, first, elastic, "w-1", "1", train)
			order(t, first, elastic, "w-2", "2", train)
			end(t, "1", 4)
			end(t, "2", 0)
		}, "horovodrun", 0, 0, ""},
		"an elastic launcher without success": {func(t *Tally, first, _ *Scripted) {
			order(t, first, elastic, "w-1", "1", train)
			order(t, first, elastic, "w-2", "2", train)
			end(t, "1", 4)
			end(t, "2", 5)
		}, "horovodrun", 0, 4, "horovodrun exited with 0, but its session on worker w-1 exited with 4 (and 1 more session)"},
		"an experiment failed": {func(t *Tally, first, _ *Scripted) {
			order(t, first, trials, "w-1", "1", train)
			end(t, "1", 1)
			over(first, 1)
		}, "deepspeed", 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			account := New()
			account.Opened()
			tc.happens(account, &Scripted{called: "python3"}, &Scripted{called: "python3"})
			account.Conclude(false)
			e := verdict.Evidence{Command: verdict.Command{Name: tc.name, Rule: verdict.ExitScript, Code: tc.code}, Workers: 2}
			account.Testify(&e)
			e = e.Latest()
			require.Equal(t, verdict.Verdict{Code: tc.want, Why: tc.why}, verdict.Judge(e))
			if tc.code == 0 && tc.want != 0 {
				require.Contains(t, verdict.Hint(e, verdict.Judge(e)), "--exit=command")
			}
			e.Rule = verdict.ExitCommand
			require.Equal(t, tc.code, verdict.Judge(e).Code, "--exit=command uses the command's exit code")
		})
	}
}
