package link_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// TestPackedSpecs checks that packed assignments are sent packed to workers that have set Unpacks,
// whether the session was opened before or after WELCOME. Other workers get them unpacked.
func TestPackedSpecs(t *testing.T) {
	p, err := wire.Pack("LONG=1")
	require.NoError(t, err)
	spec := wire.Spec{Argv: []string{"x"}, Env: []string{"A=1"}, Packed: []*wire.Packed{p}}
	for _, unpacks := range []bool{false, true} {
		w := &talker{unpacks: unpacks, opens: make(chan json.RawMessage, 2)}
		l := link.New(link.Config{Worker: "w-0", Dialer: w})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := l.Open(ctx, "", spec, link.Streams{})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- l.Run(ctx) }()
		early := <-w.opens
		_, err = l.Open(ctx, "", spec, link.Streams{})
		require.NoError(t, err)
		for _, text := range []json.RawMessage{early, <-w.opens} {
			var open struct {
				Spec struct{ Env, Packed [][]byte }
			}
			require.NoError(t, json.Unmarshal(text, &open))
			if unpacks {
				require.Equal(t, [][]byte{[]byte("A=1")}, open.Spec.Env)
				require.Len(t, open.Spec.Packed, 1)
			} else {
				require.Equal(t, [][]byte{[]byte("A=1"), []byte("LONG=1")}, open.Spec.Env)
				require.Empty(t, open.Spec.Packed)
			}
		}
		cancel()
		require.NoError(t, <-ran)
		_ = w.far.Close() // ends the worker's reader
	}
}
