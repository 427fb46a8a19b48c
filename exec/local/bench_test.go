package local_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// BenchmarkHandshake dials a worker over a unix socket and exchanges HELLO and WELCOME. It measures
// the cost of a link on both sides, without a network.
func BenchmarkHandshake(b *testing.B) {
	w := contract.NewWorker(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		up, ran := make(chan struct{}, 1), make(chan error, 1)
		l := link.New(link.Config{Worker: "w-0", Dialer: local.Dialer{Path: w.Socket}, Hello: wire.HelloRecord{Epoch: wire.Epoch{Created: 1, UID: "a"}},
			OnState: func(s link.State) {
				if s.Connected {
					up <- struct{}{}
				}
			}})
		go func() { ran <- l.Run(ctx) }()
		<-up
		cancel()
		require.NoError(b, <-ran)
	}
}

// BenchmarkRoundTrip asks a worker without sessions for its processes.
func BenchmarkRoundTrip(b *testing.B) {
	w := contract.NewWorker(b, nil)
	l := contract.NewLink(b, local.Dialer{Path: w.Socket}, nil)
	b.ReportAllocs()
	for b.Loop() {
		_, err := l.Ask(b.Context())
		require.NoError(b, err)
	}
}

// BenchmarkSession runs a program that does nothing, from OPEN to its exit record.
func BenchmarkSession(b *testing.B) {
	w := contract.NewWorker(b, nil)
	l := contract.NewLink(b, local.Dialer{Path: w.Socket}, nil)
	b.ReportAllocs()
	for b.Loop() {
		s, err := l.Open(b.Context(), "", wire.Spec{Argv: []string{"/bin/true"}}, link.Streams{})
		require.NoError(b, err)
		_, err = s.Wait(b.Context())
		require.NoError(b, err)
	}
}
