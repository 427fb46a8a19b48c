//go:build linux

package network_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/network"
	"github.com/musterhq/muster/exec/network/listener"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// epoch is that of contract.NewLink.
var epoch = wire.Epoch{Created: 1, UID: "launcher-a"}

// world is a worker that listens on loopback, and what its launcher needs. Its connections can be
// cut and refused below the seal.
type world struct {
	key      secure.LauncherKey
	launcher *secure.Launcher
	address  string

	mu      sync.Mutex
	open    map[*cutConn]bool
	refused time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{key: secure.NewLauncherKey(), open: map[*cutConn]bool{}}
	w.launcher = w.launcherOf(t, w.key, "", epoch)
	return w
}

func (w *world) launcherOf(t testing.TB, key secure.LauncherKey, job string, epoch wire.Epoch) *secure.Launcher {
	t.Helper()
	l, err := secure.NewLauncher(key, job, epoch)
	require.NoError(t, err)
	return l
}

// listen gives a worker its listener.
func (w *world) listen(t testing.TB, cfg *session.Config) {
	t.Helper()
	cfg.Instance = wire.NewID()
	guard, err := secure.NewGuard(w.key.Worker(), cfg.Job, secure.Answer{Worker: "w-0", UID: "uid-0", Instance: cfg.Instance})
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = ln.Addr().String()
	cfg.Network = listener.New(ln, guard, slog.New(slog.DiscardHandler))
}

// dialer dials as l.
func (w *world) dialer(l *secure.Launcher) *network.Dialer {
	return &network.Dialer{Launcher: l, Worker: "w-0", UID: "uid-0", Connect: w.connect,
		Address: func() (string, error) { return w.address, nil }}
}

func (w *world) connect(ctx context.Context, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.refused) {
		return nil, &link.DialError{Kind: link.Forbidden}
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &cutConn{TCPConn: nc.(*net.TCPConn), w: w}
	w.open[c] = true
	return c, nil
}

// cut breaks every connection by RST, which loses the bytes in the sockets.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.SetLinger(0)
		c.TCPConn.Close()
	}
}

// cutConn reads random sizes, so that records are split anywhere.
type cutConn struct {
	*net.TCPConn
	w *world
}

func (c *cutConn) Read(p []byte) (int, error) { return c.TCPConn.Read(p[:1+rand.IntN(len(p))]) }

func (c *cutConn) Close() error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	delete(c.w.open, c)
	return c.TCPConn.Close()
}

func newWay(t testing.TB) contract.Way {
	w := newWorld(t)
	return contract.Way{
		Worker: func(cfg *session.Config) { w.listen(t, cfg) },
		Dialer: func(testing.TB, *contract.Worker) link.Dialer { return w.dialer(w.launcher) },
		Cut:    w.cut,
		Refuse: func(d time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.refused = time.Now().Add(d)
		},
	}
}

// TestContract runs the suite of exec/local and exec/remote over TCP on loopback.
func TestContract(t *testing.T) { contract.Suite(t, newWay) }
