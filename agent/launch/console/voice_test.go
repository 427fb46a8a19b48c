package console

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fullPipe returns a pipe that takes no more bytes, and how many it holds.
func fullPipe(t *testing.T) (r, w *os.File, holds int) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	for n := 1; n > 0; holds += n { // until the pipe is full, because a deadline may pass earlier
		require.NoError(t, w.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		n, err = w.Write(bytes.Repeat([]byte("\n"), 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	require.NoError(t, w.SetWriteDeadline(time.Time{}))
	return r, w, holds
}

// within fails the test if f takes forever.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal(what)
	}
}

// TestMessagesDoNotWaitForTheirReader checks that a caller continues although nothing reads its messages,
// and that the reader later gets them in their order.
func TestMessagesDoNotWaitForTheirReader(t *testing.T) {
	r, w, holds := fullPipe(t)
	v := &Voice{Out: w}
	within(t, "a message blocked because nothing reads it", func() {
		v.Warn("first")
		v.Hint("second")
		v.Say("third")
	})
	_, err := io.CopyN(io.Discard, r, int64(holds))
	require.NoError(t, err)
	within(t, "the messages are not written", func() { v.Finish(t.Context()) })
	v.Say("last")
	require.NoError(t, w.Close())
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "agent: first\nhint: second\nagent: third\nagent: last\n", string(got))
	require.NoError(t, v.Lost())
}

// TestMostUnreadMessages checks that the newest messages are kept, and that the others are counted.
func TestMostUnreadMessages(t *testing.T) {
	r, w, holds := fullPipe(t)
	v := &Voice{Out: w}
	within(t, "a message blocked because nothing reads it", func() {
		for i := range mostUnread + 10 {
			v.Say("%d", i)
		}
	})
	_, err := io.CopyN(io.Discard, r, int64(holds))
	require.NoError(t, err)
	within(t, "the messages are not written", func() { v.Finish(t.Context()) })
	require.NoError(t, w.Close())
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Contains(t, string(got), "messages were dropped here, because nothing read standard error\n")
	require.True(t, strings.HasSuffix(string(got), "\nagent: 1009\n"), string(got))
}

// TestMessagesWithoutAReaderEnd checks that the end of a run need not wait for a reader.
func TestMessagesWithoutAReaderEnd(t *testing.T) {
	_, w, _ := fullPipe(t)
	v := &Voice{Out: w}
	ctx, cancel := context.WithCancel(t.Context())
	within(t, "a message blocked because nothing reads it", func() { v.Warn("x") })
	cancel()
	within(t, "the end waits for a reader", func() { v.Finish(ctx) })
	require.NoError(t, v.Lost())
}
