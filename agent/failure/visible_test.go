package failure

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"plain, größer, 中文, a\tb\nc":    "plain, größer, 中文, a\tb\nc",
		"\x1b[2J\x1b]0;title\a":         "^[[2J^[]0;title^G",
		"a\rb\bc\x00\x7f":               "a^Mb^Hc^@^?",
		"\u009b31m":                     `\u009b31m`,
		"user\u202etxt.exe\u2066\u200f": `user\u202etxt.exe\u2066\u200f`,
		"a\u2028b":                      `a\u2028b`,
		"\x9b31m \xff":                  "\ufffd31m \ufffd",
	} {
		require.Equal(t, want, Visible(text))
	}
	var out bytes.Buffer
	Complain(&out, New(1, "see \x1b[8m", "%w", errors.New("denied: \x1b[2Jall is well")))
	require.Equal(t, "agent: denied: ^[[2Jall is well\nhint: see ^[[8m\n", out.String())
}
