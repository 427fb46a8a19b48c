package rules

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/retry"
)

// ends has one end for each cause.
var ends = map[string]retry.End{
	"oom":       {Code: 137, OOM: true},
	"lost":      {Code: 76, Lost: true, Infra: true},
	"infra":     {Code: 76, Infra: true},
	"preflight": {Code: 78, Detail: retry.Detail{Preflight: true}},
	"device":    {Code: 1, Detail: retry.Detail{Device: true}},
	"hang":      {Code: 79},
	"stall":     {Code: 79, Stalled: true},
	"drain":     {Code: 143, Preempted: true},
}

func account(t *testing.T, most int, list string) *retry.Account {
	t.Helper()
	set, err := List([]byte(list))
	require.NoError(t, err)
	classes, err := retry.Parse(retry.Default)
	require.NoError(t, err)
	return &retry.Account{Policy: retry.Policy{Max: most, On: classes, Rules: set}}
}

// TestEveryCauseWithEveryAction checks that a rule decides about its own cause, whatever
// --restart-on says, and about no other.
func TestEveryCauseWithEveryAction(t *testing.T) {
	require.Len(t, ends, len(Causes()))
	for _, cause := range Causes() {
		for _, action := range retry.Actions() {
			list := fmt.Sprintf(`[{"causes":[%q],"action":%q}]`, cause, action)
			for other, end := range ends {
				end.Lasted = time.Hour
				end.Worker = "w-1"
				d, without := account(t, 1, list).Decide(end, time.Time{}), account(t, 1, "").Decide(end, time.Time{})
				if other != cause {
					require.Equal(t, without, d, "%s: %s", list, other)
					continue
				}
				require.Equal(t, action != retry.Fail, d.Again, "%s: %s", list, other)
				switch action {
				case retry.Fail:
					require.Equal(t, "no restart: rule 0 of --restart-policy says Fail", d.Sentence)
				case retry.Ignore:
					require.Equal(t, retry.Restart, d.Action)
					require.False(t, d.Counted)
				default:
					require.Equal(t, action, d.Action)
					require.Equal(t, cause != "drain", d.Counted, "a drain uses up no restart")
				}
			}
		}
	}
}

func TestConditions(t *testing.T) {
	killed := retry.End{Code: 137, Detail: retry.Detail{Signal: 9, Container: "main", Output: []string{"step 3", "NCCL error: unhandled system error"}}}
	starved := retry.End{Code: 137, OOM: true}
	drained := retry.End{Code: 143, Preempted: true, Detail: retry.Detail{Container: "main"}}
	for _, row := range []struct {
		rule    string
		yes, no []retry.End
	}{
		{`"exitCodes":[42,137]`, []retry.End{killed, {Code: 42}}, []retry.End{{Code: 1}}},
		{`"signals":["SIGSEGV","KILL"]`, []retry.End{killed, {Code: 139}}, []retry.End{{Code: 1}, {Code: 134}, {Code: 255}}},
		{`"signals":["term"]`, []retry.End{{Code: 1, Detail: retry.Detail{Signal: 15}}}, []retry.End{killed}},
		{`"output":"NCCL error"`, []retry.End{killed}, []retry.End{{Code: 137}}},
		{`"output":"^step \\d+$"`, []retry.End{killed}, []retry.End{{Code: 137, Detail: retry.Detail{Output: []string{"last step 3"}}}}},
		{`"container":"main"`, []retry.End{killed}, []retry.End{{Code: 137}, {Code: 137, Detail: retry.Detail{Container: "sidecar"}}, drained}},
		{`"exitCodes":[137],"causes":["oom","lost"]`, []retry.End{starved}, []retry.End{killed, {Code: 76, Lost: true}}},
		{`"causes":["drain"],"exitCodes":[143]`, []retry.End{drained}, []retry.End{{Code: 143}}},
		{`"exitCodes":[143]`, []retry.End{{Code: 143}}, []retry.End{drained}},
		{`"signals":["TERM"]`, []retry.End{{Code: 143}}, []retry.End{drained}},
		{`"exitCodes":[]`, []retry.End{killed, starved, drained}, nil},
	} {
		set, err := List([]byte(`[{` + row.rule + `,"action":"Fail"}]`))
		require.NoError(t, err)
		for _, end := range row.yes {
			_, rule, ok := set.Choose(end)
			require.True(t, ok, "%s: %+v", row.rule, end)
			require.Equal(t, "rule 0", rule)
		}
		for _, end := range row.no {
			_, _, ok := set.Choose(end)
			require.False(t, ok, "%s: %+v", row.rule, end)
		}
	}
}

func TestTheFirstMatchingRuleDecides(t *testing.T) {
	set, err := List([]byte(`[{"exitCodes":[1],"action":"ignore"},{"exitCodes":[1,2],"action":"restart-pods"},{"action":"FAIL"}]`))
	require.NoError(t, err)
	require.Equal(t, []Rule{{ExitCodes: []int{1}, Action: retry.Ignore}, {ExitCodes: []int{1, 2}, Action: retry.RestartPods}, {Action: retry.Fail}}, set.List())
	for code, want := range map[int]retry.Action{1: retry.Ignore, 2: retry.RestartPods, 3: retry.Fail} {
		action, _, ok := set.Choose(retry.End{Code: code})
		require.True(t, ok)
		require.Equal(t, want, action)
	}
	require.False(t, set.AsksOutput())
	set, err = List([]byte(`[{"output":"x","action":"Fail"}]`))
	require.NoError(t, err)
	require.True(t, set.AsksOutput())
	set, err = List([]byte(`[{"causes":["device"],"action":"replace-worker"}]`))
	require.NoError(t, err)
	require.True(t, set.AsksOutput(), "the output says whether a device is broken")
}

func TestListRefuses(t *testing.T) {
	many := `{"action":"Fail"}`
	for range MaxRules {
		many += `,{"action":"Fail"}`
	}
	for list, want := range map[string]string{
		"oom":                                    "--restart-policy is not a list of rules: invalid character",
		`{"action":"x"}`:                         "--restart-policy is not a list of rules: json: cannot unmarshal object",
		`[{"exitCode":[1],"action":"Fail"}]`:     `unknown field "exitCode"`,
		`[{"action":"Fail"}] x`:                  "--restart-policy has text after its list of rules",
		`[]`:                                     "--restart-policy has no rule",
		"[" + many + "]":                         "--restart-policy has too many rules: 17, at most 16",
		`[{}]`:                                   "--restart-policy, rule 0: the rule has no action",
		`[{"action":"Fail"},{"action":"retry"}]`: `--restart-policy, rule 1: "retry" is not an action`,
		`[{"exitCodes":[0],"action":"Fail"}]`:    "--restart-policy, rule 0: 0 is not an exit code of a failure: want 1 to 255",
		`[{"exitCodes":[256],"action":"Fail"}]`:  "256 is not an exit code of a failure",
		`[{"signals":["KILLED"],"action":"Fail"}]`: `--restart-policy, rule 0: "KILLED" is not a signal`,
		`[{"causes":["OOM"],"action":"Fail"}]`:     `--restart-policy, rule 0: "OOM" is not a cause`,
		`[{"output":"(","action":"Fail"}]`:         "--restart-policy, rule 0: output is not a regular expression: ",
	} {
		_, err := List([]byte(list))
		require.ErrorContains(t, err, want, list)
		var bad *RuleError
		require.True(t, errors.As(err, &bad))
		require.NotEmpty(t, bad.Hint())
	}
}

func FuzzList(f *testing.F) {
	f.Add(`[{"causes":["oom","drain"],"signals":["SIGKILL"],"output":"a|b","container":"main","exitCodes":[1],"action":"replace-worker"}]`)
	f.Add(`[{"action":"Ignore"}]`)
	f.Fuzz(func(t *testing.T, list string) {
		set, err := List([]byte(list))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, r := range set.List() {
			require.Contains(t, retry.Actions(), r.Action)
		}
		_, _, ok := set.Choose(retry.End{Code: 1})
		require.True(t, !ok || list != "")
	})
}
