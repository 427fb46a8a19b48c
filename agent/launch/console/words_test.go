//go:build linux

package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLastWordsOfAStream checks that the end of a long output is kept, in whole lines.
func TestLastWordsOfAStream(t *testing.T) {
	w := &Words{}
	stream := w.Reader(true)
	for i := range 10_000 {
		fmt.Fprintf(stream, "line %d\n", i)
	}
	fmt.Fprint(stream, "no end")
	lines := w.Last()
	require.Equal(t, []string{"line 9999", "no end"}, lines[len(lines)-2:])
	require.Regexp(t, `^line \d+$`, lines[0])
	require.LessOrEqual(t, len(strings.Join(lines, "\n")), mostWords)
	fmt.Fprint(stream, strings.Repeat("x", 5*mostWords)+"\nlast")
	require.Equal(t, []string{"last"}, w.Last())
	require.Empty(t, (*Words)(nil).Last())
}
