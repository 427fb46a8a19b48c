//go:build linux

package link_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestOutputCountsBytes checks the bytes that have arrived, also those of sessions that have ended, and
// the bytes that nobody has read yet.
func TestOutputCountsBytes(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	require.Zero(t, first(l.Output()))
	for range 2 {
		s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "printf abc; printf de >&2"}, link.Streams{Stdout: io.Discard, Stderr: io.Discard})
		require.NoError(t, err)
		_, err = s.Wait(ctxFor(t))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { received, held := l.Output(); return received == 10 && held == 0 }, 10*time.Second, time.Millisecond)

	r, unread := io.Pipe()
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "printf abc"}, link.Streams{Stdout: unread})
	require.NoError(t, err)
	require.Eventually(t, func() bool { received, held := l.Output(); return received == 13 && held == 3 }, 10*time.Second, time.Millisecond)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	_, err = s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.NoError(t, unread.Close())
	received, held := l.Output()
	require.EqualValues(t, 13, received)
	require.Zero(t, held)

	var none *link.Link
	require.Zero(t, first(none.Output()))
}

func first(received, _ uint64) uint64 { return received }
