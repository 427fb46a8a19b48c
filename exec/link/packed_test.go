package link_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// taker is a worker that hands on the specs it is sent, as they were sent.
type taker struct {
	unpacks bool
	specs   chan map[string]json.RawMessage
}

// Dial implements link.Dialer.
func (w *taker) Dial(context.Context) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		reader := wire.NewReader(far)
		for {
			f, err := reader.Next()
			if err != nil {
				return
			}
			switch f.Type {
			case wire.Hello:
				f, _ = wire.Record(wire.Welcome, 0, wire.WelcomeRecord{Proto: wire.ProtoMax, Instance: "i", Unpacks: w.unpacks}) // small and valid
				b, _ := wire.Append(nil, f)
				if _, err := far.Write(b); err != nil {
					return
				}
			case wire.Open:
				var open struct{ Spec map[string]json.RawMessage }
				if err := f.Decode(&open); err != nil {
					return
				}
				w.specs <- open.Spec
			}
		}
	}()
	return near, nil
}

// What is packed goes so to the workers that have said that they take it, whether the
// session was opened before they did or after; to others as they know it.
func TestPackedSpecs(t *testing.T) {
	p, err := wire.Pack("LONG=1")
	require.NoError(t, err)
	spec := wire.Spec{Argv: []string{"x"}, Env: []string{"A=1"}, Packed: []*wire.Packed{p}}
	for _, unpacks := range []bool{false, true} {
		w := &taker{unpacks: unpacks, specs: make(chan map[string]json.RawMessage, 2)}
		l := link.New(link.Config{Worker: "w-0", Dialer: w})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := l.Open(ctx, "", spec, link.Streams{})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- l.Run(ctx) }()
		early := <-w.specs
		_, err = l.Open(ctx, "", spec, link.Streams{})
		require.NoError(t, err)
		for _, got := range []map[string]json.RawMessage{early, <-w.specs} {
			var env, packed [][]byte
			require.NoError(t, json.Unmarshal(got["env"], &env))
			if unpacks {
				require.NoError(t, json.Unmarshal(got["packed"], &packed))
				require.Len(t, env, 1)
				require.Len(t, packed, 1)
			} else {
				require.NotContains(t, got, "packed")
				require.Equal(t, []byte("LONG=1"), env[1])
			}
		}
		cancel()
		require.NoError(t, <-ran)
	}
}
