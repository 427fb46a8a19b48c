package link

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// Prove asks the worker for a sign of life over the current connection, and reports whether it came
// before that connection or ctx ended. A connection that has just ended may still be Connected in
// State, so Prove may be the first to report it.
func (l *Link) Prove(ctx context.Context) bool {
	c := l.current.get()
	if c == nil {
		return false
	}
	answered := c.prove()
	select {
	case <-answered:
		return true
	case <-c.done:
	case <-ctx.Done():
	}
	return false
}

// proof is a caller that waits for the answer to a PING.
type proof struct {
	number   uint64
	answered chan struct{}
}

// ping asks for a sign of life.
func (c *conn) ping() {
	c.mu.Lock()
	c.pingLocked()
	c.mu.Unlock()
	c.kick()
}

// pingLocked queues a PING, numbered from 1. The caller holds c.mu.
func (c *conn) pingLocked() {
	c.pings++
	f := wire.Frame{Type: wire.Ping}
	if c.proto >= wire.ProtoEcho {
		f.Offset = c.pings
	}
	c.queue = append(c.queue, f)
}

// prove sends a PING. The channel is closed when its PONG comes. Workers older than wire.ProtoEcho
// do not say which PING they answer. For them the next PONG counts, and a worker that fell silent
// after an earlier PING may seem to be alive.
func (c *conn) prove() <-chan struct{} {
	c.mu.Lock()
	c.pingLocked()
	p := proof{number: c.pings, answered: make(chan struct{})}
	if c.proto < wire.ProtoEcho {
		p.number = 0
	}
	c.proofs = append(c.proofs, p)
	c.mu.Unlock()
	c.kick()
	return p.answered
}

// onPong handles the answer to PING number n. PONGs come in order.
func (c *conn) onPong(n uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.pings {
		return fmt.Errorf("%w: pong %d of %d pings", wire.ErrProtocol, n, c.pings)
	}
	waiting := c.proofs[:0]
	for _, p := range c.proofs {
		if p.number <= n {
			close(p.answered)
		} else {
			waiting = append(waiting, p)
		}
	}
	c.proofs = waiting
	return nil
}
