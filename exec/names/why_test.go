package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

// TestReplacedWhy checks that a reason survives the way through the last words of a worker, and that
// nothing but the known reasons does.
func TestReplacedWhy(t *testing.T) {
	for why, want := range map[string]string{
		names.WhyPreflight: names.WhyPreflight, names.WhyDevice: names.WhyDevice,
		"": "", "lost": "", "preflight\ndevice": "", "\x1b[2J": "", strings.Repeat("x", 1<<16): "",
	} {
		words := names.ReplacedWords(why)
		require.Equal(t, want, names.ReplacedWhy("agent worker: "+words+"\n"), why)
		require.NotContains(t, words, "\n")
		require.Less(t, len(words), 100)
	}
	for _, words := range []string{"", "preflight", "agent worker: the job is over: preflight"} {
		require.Empty(t, names.ReplacedWhy(words), words)
	}
}
