package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// steps feeds lines, each as "SECONDS RANK TEXT", and returns the step times that they give, as
// "RANK SECONDS". "reset" and "excuse" in the place of a rank are calls of the Watch.
func steps(t *testing.T, rules []Rule, every time.Duration, lines ...string) (got []string) {
	t.Helper()
	set, err := Compile(rules)
	require.NoError(t, err)
	w := set.Begin(start, 0)
	require.True(t, w.Steps(every, func(rank int, seconds float64) { got = append(got, fmt.Sprintf("%d %.3g", rank, seconds)) }))
	for _, line := range lines {
		var at float64
		var who string
		_, err := fmt.Sscan(line, &at, &who)
		require.NoError(t, err)
		text := strings.SplitN(line, " ", 3)[2]
		now := start.Add(time.Duration(at * float64(time.Second)))
		switch who {
		case "reset":
			w.Reset(now)
		case "excuse":
			w.Excuse(now)
		default:
			rank := NoRank
			_, _ = fmt.Sscan(who, &rank)
			w.Feed(rank, []byte(text), now)
		}
	}
	return got
}

func TestSteps(t *testing.T) {
	numbered := []Rule{{Expect: step, Within: ten}}
	timed := []Rule{{Expect: step, Within: ten}, {Expect: `compute=(?P<seconds>\S+)`, Within: ten}}
	for name, row := range map[string]struct {
		rules []Rule
		every float64 // seconds
		lines []string
		want  []string
	}{
		"time between numbers":             {numbered, 0, []string{"1 0 step 1", "3 0 step 2", "4 0 step 3"}, []string{"0 2", "0 1"}},
		"divided by the growth":            {numbered, 0, []string{"1 0 step 10", "6 0 step 20"}, []string{"0 0.5"}},
		"each rank by itself":              {numbered, 0, []string{"1 0 step 1", "2 1 step 1", "4 0 step 2", "6 1 step 2"}, []string{"0 3", "1 4"}},
		"a line without a rank":            {numbered, 0, []string{"1 - step 1", "2 - step 2"}, nil},
		"a repeated number":                {numbered, 0, []string{"1 0 step 1", "2 0 step 1", "5 0 step 2"}, []string{"0 4"}},
		"a number that shrinks":            {numbered, 0, []string{"1 0 step 9", "2 0 step 1", "3 0 step 2"}, []string{"0 1"}},
		"other lines":                      {numbered, 0, []string{"1 0 step 1", "2 0 loss 1", "3 0 step x", "5 0 step 2"}, []string{"0 4"}},
		"lines that come together":         {numbered, 1, []string{"1 0 step 1", "1 0 step 2", "1 0 step 3", "4 0 step 4", "4 0 step 5", "7 0 step 7"}, []string{"0 1", "0 1"}},
		"short steps are a mean":           {numbered, 2, []string{"1 0 step 1", "1.5 0 step 2", "2.5 0 step 3", "3 0 step 4", "4 0 step 5"}, []string{"0 0.667"}},
		"output that was held up":          {numbered, 0, []string{"1 0 step 1", "9 excuse ", "10 0 step 2", "11 0 step 3"}, []string{"0 1"}},
		"a restart":                        {numbered, 0, []string{"1 0 step 1", "9 reset ", "10 0 step 2", "11 0 step 3"}, []string{"0 1"}},
		"a new epoch":                      {[]Rule{{Expect: `epoch (\d+) step (\d+)`, Within: ten}}, 0, []string{"1 0 epoch 1 step 8", "2 0 epoch 1 step 9", "9 0 epoch 2 step 1", "10 0 epoch 2 step 2"}, []string{"0 1", "0 1"}},
		"a group that is no number":        {[]Rule{{Expect: `(step|batch) (\d+)`, Within: ten}}, 0, []string{"1 0 step 1", "3 0 batch 2"}, []string{"0 2"}},
		"a number besides the step":        {[]Rule{{Expect: `step (\d+) loss (\S+)`, Within: ten}}, 0, []string{"1 0 step 1 loss 5", "3 0 step 2 loss 6", "5 0 step 3 loss 4"}, nil},
		"captured seconds":                 {timed, 0, []string{"1 0 step 1 compute=0.5", "3 0 step 2 compute=0.7", "5 1 step 2 compute=0.9", "7 1 compute=0.2"}, []string{"0 0.6", "1 0.55"}},
		"captured seconds are a mean":      {timed, 3, []string{"1 0 compute=1", "2 0 compute=2", "5 0 compute=6"}, []string{"0 3"}},
		"captured milliseconds":            {[]Rule{{Expect: `step (\d+) (?P<milliseconds>\d+)ms`, Within: ten}}, 0, []string{"1 0 step 1 500ms", "2 0 step 2 700ms"}, []string{"0 0.6"}},
		"what is no time":                  {timed, 0, []string{"1 0 compute=1", "2 0 compute=nan", "3 0 compute=-1", "4 0 compute=0", "5 0 compute=x", "6 0 compute=3"}, []string{"0 2"}},
		"a time that is no part of a rule": {[]Rule{{Expect: `step (\d+)( took (?P<seconds>\S+))?`, Within: ten}}, 0, []string{"1 0 step 1", "2 0 step 2 took 4", "3 0 step 3 took 2"}, []string{"0 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, steps(t, row.rules, time.Duration(row.every*float64(time.Second)), row.lines...))
		})
	}
}

// TestRulesThatMeasureNothing checks which rules have no steps.
func TestRulesThatMeasureNothing(t *testing.T) {
	for _, rules := range [][]Rule{nil, {{FailOn: `loss (\d+)`}}, {{Expect: "saved", Within: ten}}} {
		set, err := Compile(rules)
		require.NoError(t, err)
		require.False(t, set.Begin(start, 0).Steps(0, nil))
	}
}

// TestACapturedTimeNeedNotGrow checks that a group with a time is no number of the rule: neither for
// progress nor for the position of an attempt.
func TestACapturedTimeNeedNotGrow(t *testing.T) {
	const timed = `step (\d+) (?P<seconds>\S+)`
	require.Empty(t, play(t, []Rule{{Expect: timed, Within: ten}}, 0, 20, say(1, 0, "step 1 9.0"), say(8, 0, "step 2 1.0"), say(17, 0, "step 3 nan")))
	require.Equal(t, []string{"12 no progress: the number of expect 'step (\\d+) (?P<seconds>\\S+)' has not grown beyond 1 for 10 s; the last matching line (rank 0, 4.0 s ago): step 1 9.0"},
		play(t, []Rule{{Expect: timed, Within: ten}}, 0, 12, say(2, 0, "step 1 1.0"), say(8, 0, "step 1 9.0")))
	require.Empty(t, play(t, []Rule{{Expect: `took (?P<seconds>\S+)`, Within: ten}}, 0, 20, say(1, 0, "took 9"), say(8, 0, "took 1"), say(17, 0, "took 1")))
	set, err := Compile([]Rule{{Expect: `took (?P<seconds>\S+)`, Within: ten}, {Expect: timed, Within: ten}})
	require.NoError(t, err)
	w := set.Begin(start, 0)
	w.Feed(0, []byte("step 7 0.5"), start)
	peak, ok := w.Peak()
	require.True(t, ok)
	require.Equal(t, []float64{7}, peak.Numbers)
}
