package group

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 600)
	many := ""
	for i := range 100 {
		many += fmt.Sprintf("line %d\n", i)
	}
	for name, tc := range map[string]struct {
		writes []string
		want   []string
	}{
		"nothing":                 {nil, nil},
		"one":                     {[]string{"a\n"}, []string{"a"}},
		"no newline at the end":   {[]string{"a\nb"}, []string{"a", "b"}},
		"lines in pieces":         {[]string{"a", "b\nc", "\n"}, []string{"ab", "c"}},
		"empty lines are skipped": {[]string{"a\n\n  \nb\n"}, []string{"a", "b"}},
		"a progress bar":          {[]string{"10%\r20%\r30%\n"}, []string{"30%"}},
		"CRLF lines":              {[]string{"a\r\nb\r\n"}, []string{"a", "b"}},
		"a long line":             {[]string{long + "\n"}, []string{long[:tailLine] + "..."}},
		"invalid UTF-8":           {[]string{"a\xff\n"}, []string{"a\uFFFD"}},
		"only the last lines":     {[]string{many}, strings.Split(strings.TrimSpace(many), "\n")[100-tailLines:]},
		"last lines of a flood":   {[]string{strings.Repeat(long+"\n", 1000), "end\n"}, append(repeat(long[:tailLine]+"...", tailLines-1), "end")},
	} {
		t.Run(name, func(t *testing.T) {
			var tl tail
			for _, w := range tc.writes {
				n, err := tl.Write([]byte(w))
				require.NoError(t, err)
				require.Equal(t, len(w), n)
			}
			require.Equal(t, tc.want, tl.last())
		})
	}
}

func repeat(s string, n int) []string {
	var list []string
	for range n {
		list = append(list, s)
	}
	return list
}

func TestCauseHasItsLastLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast(nil, act{says: "other\n"}, act{after: time.Second, code: 3, says: "Traceback:\nValueError"})
		result := New(cfg).Run(t.Context())
		require.Equal(t, []string{"Traceback:", "ValueError"}, result.Cause.Tail)
	})
}
