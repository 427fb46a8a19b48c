package metrics

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	specs, err := Parse([]string{"loss", "Train-accuracy:PERCENTAGE", "images/sec:raw", " top 1 : percentage ", "f1.score", "loss:RAW"})
	require.NoError(t, err)
	require.Equal(t, []Spec{{"loss", Raw}, {"Train-accuracy", Percentage}, {"images/sec", Raw}, {"top 1", Percentage}, {"f1.score", Raw}}, specs)
	specs, err = Parse(nil)
	require.NoError(t, err)
	require.Empty(t, specs)
}

func TestParseRefuses(t *testing.T) {
	for word, want := range map[string]string{
		"":             `metric "": missing name before the colon`,
		":RAW":         "missing name before the colon",
		"  ":           "missing name before the colon",
		"loss:":        "RAW or PERCENTAGE",
		"loss:percent": `metric "loss:percent": want RAW or PERCENTAGE after the colon`,
		"a:b:RAW":      "RAW or PERCENTAGE",
		"loss=":        "cannot contain =",
		"lo\nss":       "control characters",
		"lo\xff":       "control characters",
		"a\x1b[1m":     "control characters",
	} {
		_, err := Parse([]string{"ok", word})
		require.ErrorContains(t, err, want, word)
	}
	_, err := Parse([]string{strings.Repeat("x", 257)})
	require.ErrorContains(t, err, "257 bytes")
	_, err = Parse([]string{"loss", "loss:PERCENTAGE"})
	require.ErrorContains(t, err, `metric "loss" is requested both as RAW and as PERCENTAGE`)
}
