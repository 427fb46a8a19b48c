//go:build linux

package link_test

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
)

type dialFunc func(context.Context) (io.ReadWriteCloser, error)

func (f dialFunc) Dial(ctx context.Context) (io.ReadWriteCloser, error) { return f(ctx) }

// delayed returns a dialer that dials once begin is closed.
func delayed(begin <-chan struct{}, d link.Dialer) link.Dialer {
	return dialFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
		select {
		case <-begin:
			return d.Dial(ctx)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
}

// switching is a dialer that dials another worker after it was moved, like a restarted container.
type switching struct {
	mu   sync.Mutex
	path string
	open net.Conn
}

func (s *switching) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rw, err := local.Dialer{Path: s.path}.Dial(ctx)
	if err == nil {
		s.open = rw.(net.Conn)
	}
	return rw, err
}

func (s *switching) move(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path = path
	s.open.Close()
}

// silent is a connection that discards writes and never has anything to read.
type silent struct {
	once   sync.Once
	closed chan struct{}
}

func newSilent() *silent { return &silent{closed: make(chan struct{})} }

func (s *silent) Read([]byte) (int, error)    { <-s.closed; return 0, io.EOF }
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }
func (s *silent) Close() error                { s.once.Do(func() { close(s.closed) }); return nil }

// stalling is a dialer that can make its open connection discard everything without ending, like a
// lost route.
type stalling struct {
	inner link.Dialer
	mu    sync.Mutex
	open  *stallConn
}

type stallConn struct {
	io.ReadWriteCloser
	quiet *silent
	mu    sync.Mutex
	stuck bool
}

func (s *stalling) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	rw, err := s.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = &stallConn{ReadWriteCloser: rw, quiet: newSilent()}
	return s.open, nil
}

func (s *stalling) stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		s.open.mu.Lock()
		s.open.stuck = true
		s.open.mu.Unlock()
	}
}

func (c *stallConn) isStuck() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stuck
}

func (c *stallConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if c.isStuck() {
		return c.quiet.Read(p)
	}
	return n, err
}

func (c *stallConn) Write(p []byte) (int, error) {
	if c.isStuck() {
		return len(p), nil
	}
	return c.ReadWriteCloser.Write(p)
}

func (c *stallConn) Close() error {
	c.quiet.Close()
	return c.ReadWriteCloser.Close()
}

// mortal is a dialer that limits each connection to a number of bytes from the worker.
type mortal struct {
	inner link.Dialer
	bytes int
}

type mortalConn struct {
	io.ReadWriteCloser
	left int
}

func (m mortal) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	rw, err := m.inner.Dial(ctx)
	return &mortalConn{rw, m.bytes}, err
}

func (c *mortalConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrClosedPipe
	}
	n, err := c.ReadWriteCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
