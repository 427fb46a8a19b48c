package retry

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// at returns an end whose output reached these numbers.
func at(text string, numbers ...float64) End {
	e := killed
	e.Progress = Progress{By: ByNumber, Name: "expect 'step'", At: numbers, Text: text}
	return e
}

// written returns an end whose newest file is from this second; 0: there is none.
func written(second float64) End {
	e := killed
	e.Progress = Progress{By: ByFile, Name: "--progress-file=ck/*", Text: "noon"}
	if second > 0 {
		e.Progress.At = []float64{second}
	}
	return e
}

func lived(d time.Duration) End {
	e := killed
	e.Lasted = d
	return e
}

func TestNoProgress(t *testing.T) {
	drained, unseen, joined := at("1", 1), at("1", 1), at("1", 1)
	drained.Preempted, unseen.Progress.Unknown, joined.Asked = true, true, true
	further := at("9", 9)
	further.Preempted = true
	for name, row := range map[string]struct {
		ends []End
		want string // "": the run goes on
	}{
		"the number stands still": {[]End{at("7", 7), at("7", 7), at("3", 3), at("7", 7)}, "no restart: 3 attempts in a row got no further than 7, the number of expect 'step'"},
		"it grows in between":     {[]End{at("7", 7), at("7", 7), at("7", 7), at("8", 8), at("8", 8), at("8", 8)}, ""},
		"several numbers":         {[]End{at("1, 900", 1, 900), at("1, 9", 1, 9), at("1, 99", 1, 99), at("2, 1", 2, 1)}, ""},
		"no number at all":        {[]End{at(""), at(""), at(""), at("")}, "no restart: 3 attempts in a row ended before the first number of expect 'step'"},
		"the first number":        {[]End{at(""), at(""), at(""), at("1", 1)}, ""},
		"no number any more":      {[]End{at("1", 1), at(""), at(""), at("")}, "no restart: 3 attempts in a row got no further than 1, the number of expect 'step'"},
		"a number for NaN":        {[]End{at("1", math.NaN(), 1), at("1", math.NaN(), 1), at("1", math.NaN(), 1), at("2, 1", 2, 1)}, ""},
		"drains do not count":     {[]End{at("7", 7), drained, drained, drained, drained, at("7", 7), at("7", 7)}, ""},
		"but may get further":     {[]End{at("7", 7), at("7", 7), at("7", 7), further, at("8", 8), at("8", 8)}, ""},
		"changed workers":         {[]End{at("7", 7), joined, joined, joined, joined}, ""},
		"unknown":                 {[]End{at("7", 7), at("7", 7), at("7", 7), unseen, at("7", 7), at("7", 7)}, ""},
		"no file is written":      {[]End{written(5), written(5), written(4), written(5)}, "no restart: 3 attempts in a row wrote no file of --progress-file=ck/*; the newest is from noon"},
		"no file exists":          {[]End{written(0), written(0), written(0), written(0)}, "no restart: 3 attempts in a row ended without a file of --progress-file=ck/*"},
		"a file is written":       {[]End{written(5), written(5), written(5), written(6)}, ""},
		"no longer life":          {[]End{lived(62 * time.Second), lived(time.Second), lived(61 * time.Second), lived(62 * time.Second)}, "no restart: 3 attempts in a row did not live longer than the longest before (62 s)"},
		"a longer life":           {[]End{lived(62 * time.Second), lived(time.Second), lived(61 * time.Second), lived(63 * time.Second)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := account(t, 100, Default)
			a.Policy.MaxNoProgress = 3
			for i, e := range row.ends {
				d := a.Decide(e, start)
				if i < len(row.ends)-1 || row.want == "" {
					require.True(t, d.Again, "attempt %d: %s", i, d.Sentence)
					require.Zero(t, d.Code)
					continue
				}
				require.False(t, d.Again)
				require.Equal(t, names.ExitNoProgress, d.Code)
				require.Equal(t, row.want, d.Sentence)
				require.NotEmpty(t, d.Hint)
			}
		})
	}
}

func TestNoLimitOfProgress(t *testing.T) {
	a := account(t, 100, Default)
	for range 50 {
		require.True(t, a.Decide(at("7", 7), start).Again)
	}
}

func TestAPermanentFailureKeepsItsCode(t *testing.T) {
	a := account(t, 100, Default)
	a.Policy.MaxNoProgress = 1
	require.True(t, a.Decide(at("7", 7), start).Again)
	e := at("7", 7)
	e.Code = 3
	d := a.Decide(e, start)
	require.Zero(t, d.Code)
	require.Contains(t, d.Sentence, "permanent")
}

// always chooses one action for every end.
type always Action

func (a always) Choose(End) (Action, string, bool) { return Action(a), "rule 0", true }

func TestBudgetByTime(t *testing.T) {
	per, err := ParseBudget("2/1h")
	require.NoError(t, err)
	for _, rules := range []Chooser{nil, always(Ignore), always(ReplaceWorker)} {
		a := account(t, 100, Default)
		a.Policy.Per, a.Policy.Rules = per, rules
		require.True(t, a.Decide(killed, start).Again)
		require.True(t, a.Decide(killed, start.Add(30*time.Minute)).Again)
		require.True(t, a.Decide(killed, start.Add(time.Hour)).Again, "the first restart is an hour ago")
		d := a.Decide(killed, start.Add(89*time.Minute))
		require.False(t, d.Again)
		require.Equal(t, "no restart: --max-restarts-per=2/1h allows no further restart now", d.Sentence)
	}
	a := account(t, 100, Default)
	a.Policy.Per = per
	for range 10 {
		require.True(t, a.Decide(preempted, start).Again, "a drain uses up nothing")
	}
}

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]string{"6/1h": "6/1h", "1/90s": "1/1m30s", "10/90m": "10/1h30m", "3/2m": "3/2m"} {
		b, err := ParseBudget(text)
		require.NoError(t, err)
		require.Equal(t, want, b.String())
	}
	for text, want := range map[string]string{
		"6": "want NUMBER/TIME, as in 6/1h", "": "want NUMBER/TIME", "six/1h": "want NUMBER/TIME", "6/": `"" is not a time`, "6/h": `"h" is not a time`,
		"0/1h": "the number of restarts must be at least 1", "-1/1h": "at least 1", "6/1ms": "the time must be at least 1s", "6/-1h": "at least 1s",
	} {
		_, err := ParseBudget(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestIgnoredEndsUseUpNothing(t *testing.T) {
	a := account(t, 1, "130")
	a.Policy.Rules = always(Ignore)
	for range 50 {
		d := a.Decide(End{Code: 42, Why: "rank 0 exited with 42", Lasted: time.Hour}, start)
		require.True(t, d.Again)
		require.False(t, d.Counted)
		require.Equal(t, Restart, d.Action)
	}
	// Brief ones in a row are limited, so that a broken program does not restart forever.
	attempts := 0
	for a.Decide(End{Code: 42, Lasted: time.Second}, start).Again {
		attempts++
	}
	require.Equal(t, mostFree, attempts, "one of the long attempts was the first of the row")
}

func TestSentencesOfActions(t *testing.T) {
	for action, want := range map[Action]string{
		Restart:       "attempt 2 of 3: it failed",
		Ignore:        "attempt 2 of 4: it failed; this does not count as a restart",
		ReplaceWorker: "attempt 2 of 3: it failed; replacing worker w-1",
		RestartPods:   "attempt 2 of 3: it failed; replacing all workers",
		Fail:          "no restart: rule 0 of --restart-policy says Fail",
	} {
		a := account(t, 2, "130")
		a.Policy.Rules = always(action)
		require.Equal(t, want, a.Decide(End{Code: 1, Why: "it failed", Detail: Detail{Worker: "w-1"}}, start).Sentence)
	}
	a := account(t, 2, "130")
	a.Policy.Rules = always(ReplaceWorker)
	require.Equal(t, "attempt 2 of 3: it failed; replacing no worker: where the failure began is unknown", a.Decide(End{Code: 1, Why: "it failed"}, start).Sentence)
}

func TestActionsAreReadInAnyCase(t *testing.T) {
	for text, want := range map[string]Action{"ReplaceWorker": ReplaceWorker, "replace-worker": ReplaceWorker, "REPLACEWORKER": ReplaceWorker, "fail": Fail, "restart-pods": RestartPods} {
		got, ok := ParseAction(text)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "-", "retry", "replace worker"} {
		_, ok := ParseAction(text)
		require.False(t, ok, text)
	}
}
