package local_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/test/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cutting is a local dialer whose connections can be cut, which loses the bytes in the sockets. The
// dialer can also refuse new connections.
type cutting struct {
	inner link.Dialer
	way   *wayState
}

type wayState struct {
	mu      sync.Mutex
	open    map[*cutConn]bool
	refused time.Time
}

func (c cutting) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c.way.mu.Lock()
	refused := time.Now().Before(c.way.refused)
	c.way.mu.Unlock()
	if refused {
		return nil, &link.DialError{Kind: link.Forbidden}
	}
	rw, err := c.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	cc := &cutConn{Conn: rw.(net.Conn), way: c.way}
	c.way.mu.Lock()
	c.way.open[cc] = true
	c.way.mu.Unlock()
	return cc, nil
}

// cutConn is a connection that reads random sizes, so that frames are split anywhere.
type cutConn struct {
	net.Conn
	way *wayState
}

func (c *cutConn) Read(p []byte) (int, error) {
	return c.Conn.Read(p[:1+rand.IntN(len(p))])
}

func (c *cutConn) Close() error {
	c.way.mu.Lock()
	delete(c.way.open, c)
	c.way.mu.Unlock()
	return c.Conn.Close()
}

func newWay(testing.TB) contract.Way {
	st := &wayState{open: map[*cutConn]bool{}}
	return contract.Way{
		Dialer: func(_ testing.TB, w *contract.Worker) link.Dialer { return cutting{local.Dialer{Path: w.Socket}, st} },
		Cut: func() {
			st.mu.Lock()
			defer st.mu.Unlock()
			for c := range st.open {
				c.Conn.Close()
			}
		},
		Refuse: func(d time.Duration) {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.refused = time.Now().Add(d)
		},
	}
}

func TestContract(t *testing.T) { contract.Suite(t, newWay) }
