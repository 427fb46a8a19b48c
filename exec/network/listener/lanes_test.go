package listener

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/relay"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/wire"
)

// TestTrunkReachesAnotherWorker opens a trunk to one worker and, in it, a link to another. The first
// one waits for the link to end.
func TestTrunkReachesAnotherWorker(t *testing.T) {
	key := secure.NewLauncherKey()
	launcher, err := secure.NewLauncher(key, "pi", wire.Epoch{UID: "launcher"})
	require.NoError(t, err)
	serve := func(name string, take func(net.Conn, string, wire.Epoch)) (*Listener, string) {
		guard, err := secure.NewGuard(key.Worker(), "pi", secure.Answer{Worker: name})
		require.NoError(t, err)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l := New(ln, guard, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- l.Serve(ctx, take) }()
		t.Cleanup(func() {
			stop()
			require.NoError(t, <-served)
		})
		return l, ln.Addr().String()
	}
	near, at := serve("w-0", func(net.Conn, string, wire.Epoch) { t.Error("a trunk is no link") })
	_, behind := serve("w-64", func(c net.Conn, job string, epoch wire.Epoch) {
		if job == "pi" && epoch.UID == "launcher" {
			_, _ = io.Copy(c, c)
		}
	})
	<-near.Carried()

	nc, err := net.Dial("tcp", at)
	require.NoError(t, err)
	sealed, _, err := launcher.Trunks().Prove(nc, "w-0", "")
	require.NoError(t, err)
	trunk, err := relay.NewTrunk(sealed)
	require.NoError(t, err)
	defer trunk.Close()
	lane, err := trunk.Dial(t.Context(), behind)
	require.NoError(t, err)
	c, _, err := launcher.Prove(lane, "w-64", "")
	require.NoError(t, err)
	_, err = c.Write([]byte("through w-0"))
	require.NoError(t, err)
	got := make([]byte, 11)
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, "through w-0", string(got))
	carried := near.Carried()
	select {
	case <-carried:
		t.Error("a link passes through w-0")
	default:
	}
	require.NoError(t, c.Close())
	<-carried
}
