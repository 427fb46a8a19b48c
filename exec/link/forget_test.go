//go:build linux

package link_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestForgettingAnUnknownSessionSparesTheOwnSession checks that a link that makes the worker forget
// an unknown session of its epoch does not end the link's own session with the same number.
func TestForgettingAnUnknownSessionSparesTheOwnSession(t *testing.T) {
	w := contract.NewWorker(t, nil)
	first := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	_, pid := start(t, first, "echo $$; exec sleep 1000")
	first.Lose(link.Gone, io.EOF) // the session continues on the worker

	second := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	var out bytes.Buffer
	s, err := second.Open(ctxFor(t), "", wire.Spec{Line: "cat; exit 3"}, link.Streams{
		Stdin: io.NopCloser(strings.NewReader("still heard\n")), Stdout: &out})
	require.NoError(t, err)
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, 3, rec.Code)
	require.Equal(t, "still heard\n", out.String())
	requireGone(t, pid)
}

// TestForgetIsPatient checks that FORGET waits for other frames, but not if the worker is being stopped, and not for
// longer than 2 s.
func TestForgetIsPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &talker{acks: make(chan uint64, 100), opens: make(chan json.RawMessage, 1), forgets: make(chan string, 9)}
		l := link.New(link.Config{Worker: "w-0", Dialer: w, PingEvery: time.Hour, DeadAfter: 2 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- l.Run(ctx) }()
		opened := uint32(0)
		ends := func(id, reason string) {
			_, err := l.Open(ctx, id, wire.Spec{Line: "x"}, link.Streams{})
			require.NoError(t, err)
			<-w.opens
			opened++
			w.record(wire.Exit, opened, wire.ExitRecord{Reason: reason})
			w.frame(wire.Frame{Type: wire.EOF, Stream: wire.Stdout, Channel: opened})
			w.frame(wire.Frame{Type: wire.EOF, Stream: wire.Stderr, Channel: opened})
			synctest.Wait()
		}
		ends("a", "")
		require.Empty(t, w.forgets)
		time.Sleep(2*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(t, w.forgets)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "a", <-w.forgets)

		ends("b", "")
		require.Empty(t, w.forgets)
		ends("c", wire.ReasonPreempted)
		require.Equal(t, "b", <-w.forgets, "the next frame takes it along")
		require.Equal(t, "c", <-w.forgets)
		cancel()
		require.NoError(t, <-ran)
		_ = w.far.Close() // ends the worker's reader
	})
}
