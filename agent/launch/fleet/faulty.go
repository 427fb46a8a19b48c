package fleet

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
)

// errFault is the error that a link sees after a rehearsed drop.
var errFault = errors.New("dropped by --fake-fault")

// faulty sits between the links of one fake worker and its socket, and carries out faults of the
// connection.
type faulty struct {
	inner link.Dialer
	every int64

	mu    sync.Mutex
	rand  *rand.Rand
	conns map[*faultyConn]bool
	clear chan struct{} // closed while bytes may pass
}

func newFaulty(inner link.Dialer, worker int, faults []config.Fault) *faulty {
	f := &faulty{
		inner: inner,
		rand:  rand.New(rand.NewPCG(1, uint64(worker))),
		conns: map[*faultyConn]bool{},
		clear: make(chan struct{}),
	}
	close(f.clear)
	for _, fault := range faults {
		if fault.Verb == "drop" && fault.Hits(worker) {
			f.every = max(f.every, fault.Every)
		}
	}
	return f
}

// Dial implements link.Dialer.
func (f *faulty) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	inner, err := f.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &faultyConn{ReadWriteCloser: inner, line: f, closed: make(chan struct{})}
	if f.every > 0 {
		// Cut after 0.5 to 1.5 times the size. If every cut came at the same byte, a slightly
		// longer frame would never pass.
		c.left = f.every/2 + f.rand.Int64N(f.every)
	}
	f.conns[c] = true
	return c, nil
}

// drop cuts every open connection.
func (f *faulty) drop() {
	f.mu.Lock()
	conns := make([]*faultyConn, 0, len(f.conns))
	for c := range f.conns {
		conns = append(conns, c)
	}
	f.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

// stall lets no byte pass for d, or until ctx ends.
func (f *faulty) stall(ctx context.Context, d time.Duration) {
	clear := make(chan struct{})
	f.mu.Lock()
	f.clear = clear
	f.mu.Unlock()
	wait.Sleep(ctx, d)
	close(clear)
}

// faultyConn is one connection with faults.
type faultyConn struct {
	io.ReadWriteCloser
	line   *faulty
	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	left int64 // bytes until the cut; 0: no cut
}

// Read implements io.Reader.
func (c *faultyConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if waitErr := c.pass(); waitErr != nil {
		return 0, waitErr
	}
	if cut := c.spend(n); cut < n {
		c.Close()
		return cut, errFault
	}
	return n, err
}

// Write implements io.Writer.
func (c *faultyConn) Write(p []byte) (int, error) {
	if err := c.pass(); err != nil {
		return 0, err
	}
	cut := c.spend(len(p))
	n, err := c.ReadWriteCloser.Write(p[:cut])
	if err == nil && cut < len(p) {
		c.Close()
		err = errFault
	}
	return n, err
}

// pass waits while the connections are stalled.
func (c *faultyConn) pass() error {
	c.line.mu.Lock()
	clear := c.line.clear
	c.line.mu.Unlock()
	select {
	case <-clear:
		return nil
	case <-c.closed:
		return errFault
	}
}

// spend returns how many of n bytes may still pass.
func (c *faultyConn) spend(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line.every == 0 {
		return n
	}
	if int64(n) <= c.left {
		c.left -= int64(n)
		return n
	}
	n, c.left = int(c.left), 0
	return n
}

// Close implements io.Closer.
func (c *faultyConn) Close() error {
	err := errFault
	c.once.Do(func() {
		close(c.closed)
		err = c.ReadWriteCloser.Close()
		c.line.mu.Lock()
		delete(c.line.conns, c)
		c.line.mu.Unlock()
	})
	return err
}
