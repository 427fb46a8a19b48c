package pairs

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var token = []byte("0123456789abcdef")

// serve returns the address of a listener that ends with the test.
func serve(t *testing.T, address string) string {
	ln, err := Listen(address, token)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { ln.Serve(ctx) })
	t.Cleanup(func() { stop(); all.Wait() })
	return net.JoinHostPort(address, strconv.Itoa(ln.Port()))
}

func ask(peers ...string) wire.AskDialRecord {
	a := wire.AskDialRecord{Token: token, TimeoutMillis: 2000}
	for i, p := range peers {
		a.Peers = append(a.Peers, wire.PeerRecord{Worker: "w" + strconv.Itoa(i), Address: p})
	}
	return a
}

func TestRoundTrip(t *testing.T) {
	found := Dial(t.Context(), ask(serve(t, "127.0.0.1"), serve(t, "127.0.0.2")))
	require.Len(t, found, 2)
	for i, p := range found {
		require.Equal(t, "w"+strconv.Itoa(i), p.Worker)
		require.Empty(t, p.Error)
		require.Positive(t, p.RoundTripMicros)
		require.Zero(t, p.Bytes)
	}
}

// TestTransfer checks that the confirmed bytes are those that were asked for, and that the time
// bounds a transfer.
func TestTransfer(t *testing.T) {
	at := serve(t, "127.0.0.1")
	for _, size := range []int64{1, chunk, chunk + 1, 5 * chunk} {
		a := ask(at)
		a.Bytes = size
		got := Dial(t.Context(), a)[0]
		require.Empty(t, got.Error)
		require.Equal(t, size, got.Bytes)
		require.Positive(t, got.Micros)
	}
	a := ask(at)
	a.Bytes, a.TransferMillis = wire.MostTransfer, 1
	got := Dial(t.Context(), a)[0]
	require.Empty(t, got.Error)
	require.Less(t, got.Bytes, int64(wire.MostTransfer))
}

func TestErrors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := closed.Addr().String()
	require.NoError(t, closed.Close())
	other := ask(serve(t, "127.0.0.1"))
	other.Token = []byte("another token...")
	bad := ask(serve(t, "127.0.0.1"))
	bad.From = "localhost"
	for name, row := range map[string]struct {
		ask  wire.AskDialRecord
		want string
	}{
		"nobody listens":        {ask(nobody), "connection refused"},
		"another job":           {other, "the peer closed the connection: something else listens at its port"},
		"a name as own address": {bad, `"localhost" is not an IP address`},
	} {
		t.Run(name, func(t *testing.T) {
			got := Dial(t.Context(), row.ask)
			require.Equal(t, row.want, got[0].Error)
			require.Zero(t, got[0].RoundTripMicros)
		})
	}
	_, err = Listen("pi-worker-0", token)
	require.Error(t, err)
	_, err = Listen("127.0.0.1", token[:3])
	require.Error(t, err)
}

// TestSilentPeer checks that a peer that accepts and says nothing costs only the time-out.
func TestSilentPeer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	a := ask(ln.Addr().String())
	a.TimeoutMillis = 50
	got := Dial(t.Context(), a)[0]
	require.Equal(t, "no answer", got.Error)
}

// TestStrangers checks that peers without the token, and those that send too much, are dropped, and
// that the next peer is served.
func TestStrangers(t *testing.T) {
	at := serve(t, "127.0.0.1")
	for name, text := range map[string][]byte{
		"garbage":         []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"unknown request": append(append([]byte{}, token...), 'x'),
		"too much":        append(append([]byte{}, token...), transfer, 0xff, 0xff, 0xff, 0xff),
	} {
		c, err := net.Dial("tcp", at)
		require.NoError(t, err, name)
		_, err = c.Write(text)
		require.NoError(t, err, name)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(5*time.Second)))
		for err == nil { // until it is closed
			_, err = c.Read(make([]byte, 64))
		}
		require.NotErrorIs(t, err, context.DeadlineExceeded, name)
		require.NoError(t, c.Close())
	}
	require.Empty(t, Dial(t.Context(), ask(at))[0].Error)
}
