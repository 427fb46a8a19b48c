package link

import (
	"context"

	"github.com/musterhq/muster/exec/wire"
)

// Prove asks the worker for a sign of life over the present connection, and
// reports whether it came before that connection or ctx ended. One that ended a
// moment ago is still Connected in State; false is the first to know.
func (l *Link) Prove(ctx context.Context) bool {
	c := l.current.Load()
	if c == nil {
		return false
	}
	answered := c.nextPong()
	c.push(wire.Frame{Type: wire.Ping})
	select {
	case <-answered:
		return true
	case <-c.done:
	case <-ctx.Done():
	}
	return false
}

// nextPong is closed when the next PONG comes.
func (c *conn) nextPong() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ponged == nil {
		c.ponged = make(chan struct{})
	}
	return c.ponged
}

func (c *conn) onPong() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ponged != nil {
		close(c.ponged)
		c.ponged = nil
	}
}
