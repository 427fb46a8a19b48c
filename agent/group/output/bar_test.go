package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// progress writes each text to a tagged stream and pauses after it. It returns the output from
// before the stream was closed, and all output.
func progress(t *testing.T, pause time.Duration, texts ...string) (before, after string) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w, _ := New(Config{Out: &out, Err: &out, Ranks: 2, Processes: 2}).Streams(0, "rank 0")
		for _, text := range texts {
			_, err := io.WriteString(w, text)
			require.NoError(t, err)
			time.Sleep(pause)
		}
		synctest.Wait()
		before = out.String()
		require.NoError(t, w.Close())
		after = out.String()
	})
	return before, after
}

// TestProgressBar checks that a state of a progress bar is shown when it arrives, not at the end of
// the bar, and that no byte is lost.
func TestProgressBar(t *testing.T) {
	for name, tc := range map[string]struct {
		pause         time.Duration
		texts         []string
		before, after string
	}{
		"slow":              {time.Second, []string{"10%\r", "20%\r"}, "0: 10%\r\n0: 20%\r\n", ""},
		"return first":      {time.Second, []string{"\r10%", "\r20%", "\r30%"}, "0: \r\n0: 10%\r\n0: 20%\r\n", "0: 30%\n"},
		"without pauses":    {0, []string{"10%\r", "20%\r", "30%\r", "40%"}, "0: 10%\r\n", "0: 20%\r30%\r40%\n"},
		"held, then shown":  {40 * time.Millisecond, []string{"1\r", "2\r", "3\r", "4\r", "", ""}, "0: 1\r\n0: 2\r3\r\n0: 4\r\n", ""},
		"line feed after":   {time.Second, []string{"100%\r", "\ndone\n"}, "0: 100%\r\n0: done\n", ""},
		"line feed of line": {time.Second, []string{"100%\r", "\n", "\n"}, "0: 100%\r\n0: \n", ""},
		"CRLF lines":        {time.Second, []string{"a\r\nb\r\n"}, "0: a\r\n0: b\r\n", ""},
		"no bar":            {time.Second, []string{"loss=", "0.5", "\n"}, "0: loss=0.5\n", ""},
		"bar, then lines":   {0, []string{"1\r", "2\r", "end\nx\n"}, "0: 1\r\n0: 2\rend\n0: x\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := progress(t, tc.pause, tc.texts...)
			require.Equal(t, tc.before, before)
			require.Equal(t, tc.before+tc.after, after)
		})
	}
}

// TestProgressBarIsBounded checks that at most ten states are shown each second, however many
// arrive.
func TestProgressBarIsBounded(t *testing.T) {
	var texts []string
	for i := range 2000 {
		texts = append(texts, fmt.Sprintf("%d/2000\r", i))
	}
	before, _ := progress(t, time.Millisecond, texts...)
	require.LessOrEqual(t, strings.Count(before, "\n"), 21)
	require.GreaterOrEqual(t, strings.Count(before, "\n"), 19)
	require.Equal(t, strings.Join(texts[:1900], ""), strings.NewReplacer("\n0: ", "", "0: ", "").Replace(before)[:len(strings.Join(texts[:1900], ""))])
}

// TestProgressBarUnwritable checks that the next write returns the error if the timer could not
// show a state.
func TestProgressBarUnwritable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := &turning{}
		l := &lines{to: place, mu: &sync.Mutex{}}
		for _, text := range []string{"1\r", "2\r"} {
			_, err := io.WriteString(l, text)
			require.NoError(t, err)
		}
		place.broken.Store(true)
		time.Sleep(barEvery)
		synctest.Wait()
		_, err := io.WriteString(l, "3\r")
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.ErrorIs(t, l.Close(), io.ErrClosedPipe)
	})
}

// turning is a writer that fails once broken is set.
type turning struct{ broken atomic.Bool }

func (t *turning) Write(p []byte) (int, error) {
	if t.broken.Load() {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}
