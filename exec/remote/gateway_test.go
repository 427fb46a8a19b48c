package remote

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/fakekube"
)

// gateway is a server that blocks SPDY when it is told to.
type gateway struct {
	world
	blocks atomic.Bool
	tried  atomic.Int32 // SPDY dials that were blocked
}

// behind sets up a gateway whose way to block SPDY is block.
func behind(t *testing.T, block http.HandlerFunc, command fakekube.Command) *gateway {
	g := &gateway{}
	server := fakekube.New(t)
	exec := fakekube.NewExec(t, command)
	server.Handle(fakekube.ExecPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isSPDY(r) && g.blocks.Load() {
			g.tried.Add(1)
			block(w, r)
			return
		}
		exec.ServeHTTP(w, r)
	}))
	g.world = world{server, exec, New(&rest.Config{Host: server.URL()}, nil, target, &Protocol{})}
	return g
}

// another returns the dialer of another worker of the same launcher.
func (g *gateway) another() *Dialer {
	return New(g.dialer.cfg, nil, target, g.dialer.proto)
}

// carries dials with little time, and checks that the stream carries bytes.
func carries(t *testing.T, d *Dialer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	conn, err := d.Dial(ctx)
	require.NoError(t, err)
	_, err = conn.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// blockades are ways in which gateways drop SPDY and pass WebSockets.
func blockades() map[string]http.HandlerFunc {
	plain := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>no</html>", code) }
	}
	return map[string]http.HandlerFunc{
		"strips the header": func(w http.ResponseWriter, _ *http.Request) {
			fakekube.WriteStatus(w, 400, "Upgrade request required")
		},
		"answers 403": plain(403), "answers 405": plain(405), "answers 426": plain(426),
		"answers 502": plain(502), "answers 503": plain(503), "answers 504": plain(504),
		"closes the connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"holds the request":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
}

// TestGatewayFromTheStart checks that one failed dial is enough for all workers.
func TestGatewayFromTheStart(t *testing.T) {
	for name, block := range blockades() {
		t.Run(name, func(t *testing.T) {
			g := behind(t, block, echo)
			g.blocks.Store(true)
			for range 3 {
				carries(t, g.dialer)
				carries(t, g.another())
			}
			require.Equal(t, int32(1), g.tried.Load())
			require.Equal(t, "WebSocket", g.dialer.proto.String())
		})
	}
}

// TestGatewayInMidRun checks that a worker whose SPDY stream was blocked once never dials SPDY again,
// and that three workers are enough for all of them.
func TestGatewayInMidRun(t *testing.T) {
	for name, block := range blockades() {
		t.Run(name, func(t *testing.T) {
			g := behind(t, block, echo)
			for range 3 {
				carries(t, g.dialer)
			}
			require.Equal(t, "SPDY", g.dialer.proto.String())
			g.blocks.Store(true)
			for range 3 {
				carries(t, g.dialer)
			}
			require.Equal(t, int32(1), g.tried.Load())
			for range 5 {
				carries(t, g.another())
			}
			require.LessOrEqual(t, g.tried.Load(), int32(proofs))
			require.Equal(t, "WebSocket", g.dialer.proto.String())
		})
	}
}

// TestOutageIsNoGateway checks that a server which cuts single dials does not change the transport
// of other workers.
func TestOutageIsNoGateway(t *testing.T) {
	g := behind(t, blockades()["closes the connection"], echo)
	carries(t, g.dialer)
	for range 2 * proofs {
		g.blocks.Store(true)
		carries(t, g.another())
		g.blocks.Store(false)
		carries(t, g.another())
	}
	require.Equal(t, "SPDY", g.dialer.proto.String())
}

// TestSilentWorkerIsNoGateway checks that a WebSocket proves nothing before its first byte: an API
// server accepts it while the node does not answer.
func TestSilentWorkerIsNoGateway(t *testing.T) {
	g := behind(t, blockades()["holds the request"], func(ctx context.Context, _, _ string, _ []string, _ io.Reader, _, _ io.Writer) (int, error) {
		<-ctx.Done()
		return 0, nil
	})
	g.blocks.Store(true)
	for range 2 * proofs {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		conn, err := g.another().Dial(ctx)
		cancel()
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.Equal(t, "SPDY", g.dialer.proto.String())
}

// TestSlowServerIsNoGateway checks that a dial only waits if other dials of the same transport
// succeed meanwhile.
func TestSlowServerIsNoGateway(t *testing.T) {
	g := behind(t, blockades()["holds the request"], echo)
	g.blocks.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := g.another().Dial(ctx)
		ended <- err
	}()
	require.Eventually(t, func() bool { return g.tried.Load() == 1 }, time.Second, time.Millisecond)
	g.blocks.Store(false)
	require.NoError(t, g.dial(t).Close())
	require.Equal(t, link.Unreachable, kind(t, <-ended))
	require.Zero(t, g.exec.Dials()[fakekube.WebSocket])
}

// TestUnreachableServerIsDialedOnce checks that, if nothing accepts a connection, the other
// transport is not tried.
func TestUnreachableServerIsDialedOnce(t *testing.T) {
	w := on(t, fakekube.SPDY, echo)
	w.server.Stop()
	r := &race{d: w.dialer, first: SPDY}
	_, reached, err := w.dialer.attempt(t.Context(), w.dialer.spdy)
	require.False(t, r.mayPass(result{by: SPDY, reached: reached, err: err}))
	require.Equal(t, link.Unreachable, kind(t, err))
}
