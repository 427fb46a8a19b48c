package link

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// Prove asks the worker for a sign of life over the present connection, and
// reports whether it came before that connection or ctx ended. One that ended a
// moment ago is still Connected in State; false is the first to know.
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

// proof is somebody who waits for the answer to a PING.
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

// pingLocked queues a PING; its number counts from 1. Called with c.mu held.
func (c *conn) pingLocked() {
	c.pings++
	f := wire.Frame{Type: wire.Ping}
	if c.proto >= wire.ProtoEcho {
		f.Offset = c.pings
	}
	c.queue = append(c.queue, f)
}

// prove sends a PING; the channel is closed when its PONG comes. Workers before
// wire.ProtoEcho do not say which PING they answer: there the next PONG counts,
// and a worker that fell silent after an earlier PING may seem to live.
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

// onPong takes the answer to PING number n; PONGs come in order.
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
