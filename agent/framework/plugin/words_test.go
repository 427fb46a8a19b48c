package plugin

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStderr(t *testing.T) {
	for name, tc := range map[string]struct {
		text, last string
		lines      int
	}{
		"nothing":                 {"", "", 0},
		"lines":                   {"a\nb\n\nc", "a b  c", 3},
		"last lines that fit":     {strings.Repeat("x", 150) + "\n" + strings.Repeat("y", 150) + "\nz\n", strings.Repeat("y", 150) + " z", 3},
		"line too long":           {strings.Repeat("é", 300), strings.Repeat("é", 100) + "...", 1},
		"control characters":      {"a\x1b[2J\xff\n", "a [2J?", 1},
		"more than the log limit": {strings.Repeat("0123456\n", 20_000), strings.TrimSpace(strings.Repeat("0123456 ", 25)), mostLogged/8 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			var log strings.Builder
			s := &stderr{pipe: r, log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), done: make(chan struct{})}
			written := make(chan error, 1)
			go func() {
				_, err := w.WriteString(tc.text)
				w.Close()
				written <- err
			}()
			n, err := s.Read(make([]byte, 100))
			require.EqualError(t, err, "EOF")
			require.Zero(t, n)
			require.NoError(t, <-written)
			require.Equal(t, tc.last, s.lastWords())
			require.Equal(t, tc.lines, strings.Count(log.String(), "\n"))
			require.NoError(t, s.Close())
		})
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "half": "half", "a line\nanother\n": "a line", "\nlate": "", strings.Repeat("x", 1000): strings.Repeat("x", mostKept),
	} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		_, err = w.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		s := &stdout{pipe: r}
		for buf := make([]byte, 3); err == nil; {
			_, err = s.Read(buf)
		}
		require.Equal(t, want, s.firstLine())
		require.NoError(t, s.Close())
	}
}
