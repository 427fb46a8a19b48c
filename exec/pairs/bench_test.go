package pairs

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// BenchmarkDial measures the round trips with 59 peers, which is a worker's part of 60.
func BenchmarkDial(b *testing.B) {
	token := make([]byte, wire.PairTokenSize)
	ln, err := Listen("127.0.0.1", token)
	require.NoError(b, err)
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	all.Go(func() { ln.Serve(ctx) })
	ask := wire.AskDialRecord{Token: token, TimeoutMillis: 1000}
	for range 59 {
		ask.Peers = append(ask.Peers, wire.PeerRecord{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ln.Port()))})
	}
	for b.Loop() {
		for _, p := range Dial(ctx, ask) {
			require.Empty(b, p.Error)
		}
	}
	stop()
	all.Wait()
}
