//go:build linux

package network_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/network"
	"github.com/musterhq/muster/exec/relay"
)

// TestRelayLostDuringTheProof checks that a worker is not said to refuse a launcher whose relay was lost
// before the worker answered. The launcher would go on by exec for good, and blame the keys.
func TestRelayLostDuringTheProof(t *testing.T) {
	w := newWorld(t)
	claimed := make(chan struct{})
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- relay.Serve(t.Context(), far, func(context.Context, string) (net.Conn, error) {
			lane, worker := net.Pipe()
			go func() {
				_, _ = worker.Read(make([]byte, 1)) // the claim
				close(claimed)
				_, _ = io.Copy(io.Discard, worker)
			}()
			return lane, nil
		})
	}()
	trunk, err := relay.NewTrunk(near)
	require.NoError(t, err)
	d := w.dialer(w.launcher)
	d.Connect, w.address = trunk.Dial, "w-0:9378"
	go func() {
		<-claimed
		near.Close()
	}()
	_, err = d.Dial(t.Context())
	require.ErrorContains(t, err, "the connection to the relay has ended")
	require.False(t, network.Refused(err), err)
	trunk.Close()
	require.NoError(t, <-served)
}
