package progress

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func words(pairs ...string) (all []Word) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, Word{pairs[i], pairs[i+1]}) //nolint:gosec // G602: they come in pairs
	}
	return all
}

func TestFlagsBelongToTheRuleBeforeThem(t *testing.T) {
	got, err := Read(words("expect", step, "within", "10m", "expect", "saved", "within", "1h", "first-within", "2h", "expect-by", "rank", "progress-action", "stop", "fail-on", "nan", "fail-on", "inf", "progress-action", "report"))
	require.NoError(t, err)
	require.Equal(t, []Rule{
		{Expect: step, Within: 10 * time.Minute},
		{Expect: "saved", Within: time.Hour, FirstWithin: 2 * time.Hour, ByRank: true, Stop: true},
		{FailOn: "nan", Stop: true},
		{FailOn: "inf"},
	}, got)
	same, err := Read(words("progress", `[{"expect":"step (\\d+)","within":"10m"},{"expect":"saved","within":"1h","firstWithin":"2h","by":"rank","action":"stop"},{"failOn":"nan"},{"failOn":"inf","action":"report"}]`))
	require.NoError(t, err)
	require.Equal(t, got, same)
	none, err := Read(nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestARuleThatCannotBeUsed(t *testing.T) {
	for want, given := range map[string][]Word{
		`--expect='step (\d+' is not a regular expression: missing closing ) 'step (\d+'`:           words("expect", `step (\d+`, "within", "1m"),
		`--fail-on='*nan' is not a regular expression: missing argument to repetition operator '*'`: words("fail-on", "*nan"),
		`--within=10m needs an --expect before it`:                                                  words("within", "10m", "expect", "x"),
		`--first-within=10m needs an --expect before it`:                                            words("fail-on", "x", "first-within", "10m"),
		`--progress-action=stop needs an --expect or --fail-on before it`:                           words("progress-action", "stop"),
		`--expect='x' needs --within`:                                                               words("expect", "x"),
		`--expect is empty`:                                                                         words("expect", "", "within", "1m"),
		`--expect='.*' matches every line, even an empty one`:                                       words("expect", ".*", "within", "1m"),
		`--within=10ms is too short: want at least 1s`:                                              words("expect", "x", "within", "10ms"),
		`--within=-1m0s must not be negative`:                                                       words("expect", "x", "within", "-1m"),
		`--within="ten": want a time, as in 90s, 10m or 1h`:                                         words("expect", "x", "within", "ten"),
		`--expect-by=node: unknown value`:                                                           words("expect", "x", "within", "1m", "expect-by", "node"),
		`--progress-action=kill: unknown value`:                                                     words("fail-on", "x", "progress-action", "kill"),
		`--progress is not a list of rules: invalid character 'x' looking for beginning of value`:   words("progress", "x"),
		`--progress is not a list of rules: json: unknown field "until"`:                            words("progress", `[{"until":"1m"}]`),
		`--progress, rule 1: within="x": want a time, as in 90s, 10m or 1h`:                         words("progress", `[{"failOn":"x"},{"expect":"x","within":"x"}]`),
		`a progress rule has both --expect='a' and --fail-on='b'`:                                   words("progress", `[{"expect":"a","failOn":"b"}]`),
		`--fail-on='b' cannot have --within, --first-within or --expect-by`:                         words("progress", `[{"failOn":"b","by":"rank"}]`),
		`a progress rule has neither --expect nor --fail-on`:                                        words("progress", `[{}]`),
		`too many progress rules: 17, at most 16`:                                                   words("progress", `[{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"},{"failOn":"b"}]`),
		`--progress has text after its list of rules`:                                               words("progress", `[] []`),
		`--progress, rule 0: action=kill: unknown value`:                                            words("progress", `[{"failOn":"b","action":"kill"}]`),
		`--first-within=500ms is too short: want at least 1s`:                                       words("expect", "x", "first-within", "500ms"),
		`--expect='(?P<n>x' is not a regular expression: missing closing ) '(?P<n>x'`:               words("expect", "(?P<n>x", "within", "1m"),
	} {
		_, err := Read(given)
		require.EqualError(t, err, want)
		var rule *RuleError
		require.True(t, errors.As(err, &rule))
		require.NotEmpty(t, rule.Hint(), want)
	}
}
