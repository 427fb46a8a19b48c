package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogNeverWaitsForItsReader(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	log := NewLogger(w, "json", "info", false)
	log.Info("first")
	for n := 1; n > 0; { // until the pipe is full, because a deadline may pass earlier
		require.NoError(t, w.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		n, err = w.Write(bytes.Repeat([]byte("\n"), 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	require.NoError(t, w.SetWriteDeadline(time.Time{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			log.With("worker", "w-0").Info("nobody reads this")
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the log blocked because nothing reads it")
	}
	read := make(chan string)
	go func() {
		text, err := io.ReadAll(r)
		read <- string(text)
		require.True(t, err == nil || errors.Is(err, os.ErrClosed))
	}()
	require.Eventually(t, func() bool { return newSink(w).ready() }, 10*time.Second, time.Millisecond)
	log.Info("last")
	require.NoError(t, w.Close())
	lines := strings.Fields(<-read)
	require.Len(t, lines, 2)
	var last map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &last))
	require.Equal(t, "last", last["msg"])
	require.EqualValues(t, 3, last["dropped"], "dropped lines are counted")
}
