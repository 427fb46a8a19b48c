package listener

import (
	"context"
	"net"
	"sync"
)

// lanes are the connections to workers behind this one. A worker that is done waits for them to end.
type lanes struct {
	mu   sync.Mutex
	open int
	none chan struct{} // closed when none is open; nil: nobody waits
}

// dial connects to the address of a lane.
func (l *lanes) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return &lane{Conn: nc, all: l}, nil
}

// ended returns a channel that is closed when no lane is open.
func (l *lanes) ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.none == nil {
		l.none = make(chan struct{})
	}
	none := l.none
	l.tell()
	return none
}

// tell wakes all waiters, if no lane is open.
func (l *lanes) tell() {
	if l.open == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}

// lane counts as open until its first Close.
type lane struct {
	net.Conn
	all  *lanes
	once sync.Once
}

// Close implements net.Conn.
func (c *lane) Close() error {
	c.once.Do(func() {
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		c.all.open--
		c.all.tell()
	})
	return c.Conn.Close()
}
