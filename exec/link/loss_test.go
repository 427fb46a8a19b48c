//go:build linux

package link_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

func TestLoseCancelsADial(t *testing.T) {
	dialled := make(chan struct{})
	l := link.New(link.Config{Worker: "w-0", DialTimeout: time.Hour, Gate: link.NewGate(), Dialer: dialFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
		close(dialled)
		<-ctx.Done()
		return nil, &link.DialError{Kind: link.Unreachable, Err: ctx.Err()}
	})})
	ran := make(chan error)
	go func() { ran <- l.Run(ctxFor(t)) }()
	<-dialled
	l.Lose(link.Gone, errors.New("pod deleted"))
	err := <-ran
	var lost *link.LostError
	require.ErrorAs(t, err, &lost)
	require.ErrorContains(t, lost, "pod deleted")
}

// slowWriter is a writer that blocks until free is closed.
type slowWriter struct {
	free chan struct{}
	got  bytes.Buffer
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-w.free
	return w.got.Write(p)
}

func TestOutputThatHasArrivedOutlivesItsWorker(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.Socket}})
	ran := make(chan error)
	go func() { ran <- l.Run(ctxFor(t)) }()
	out := &slowWriter{free: make(chan struct{})}
	s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "seq 20000"}, link.Streams{Stdout: out})
	require.NoError(t, err)
	// When Arrived is true, the launcher has the exit record and all bytes, and needs nothing more
	// from the worker.
	require.Eventually(t, func() bool { return s.Arrived() }, 10*time.Second, time.Millisecond)
	l.Lose(link.Gone, errors.New("pod deleted"))
	close(out.free)
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.EqualValues(t, rec.Stdout, out.got.Len())
	require.Error(t, <-ran)
}

func TestStopBeforeTheProcessStarts(t *testing.T) {
	w := contract.NewWorker(t, nil)
	l := contract.NewLink(t, local.Dialer{Path: w.Socket}, nil)
	for range 20 {
		s, err := l.Open(ctxFor(t), "", wire.Spec{Line: "sleep 1000"}, link.Streams{})
		require.NoError(t, err)
		s.Stop(time.Second)
		rec, err := s.Wait(ctxFor(t))
		require.NoError(t, err)
		require.Equal(t, wire.ReasonStopped, rec.Reason)
	}
	require.Zero(t, w.Server.Sessions())
}

func TestEndsReachALauncherThatRedialsDuringTheStop(t *testing.T) {
	w := contract.NewWorker(t, nil)
	d := &switching{path: w.Socket}
	l := contract.NewLink(t, d, nil)
	s, _ := start(t, l, "trap 'echo checkpoint; sleep 0.3; exit 9' TERM; echo $$; while :; do sleep 0.05; done")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.Server.Stop(ctxFor(t), wire.ReasonPreempted, 10*time.Second)
	}()
	d.move(w.Socket) // breaks the connection
	rec, err := s.Wait(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonPreempted, rec.Reason)
	<-stopped
}
