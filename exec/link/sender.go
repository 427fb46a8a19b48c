package link

import (
	"github.com/musterhq/muster/exec/wire"
)

// sender is the phase of a connection's sender: a goroutine that exists only while there is something
// to send.
type sender int

const (
	asleep   sender = iota // there is no goroutine
	sending                // it sends what it has found
	reminded               // it must look again before it ends
)

// kick has the sender look for something to send. It is called with locks of flow held.
func (c *conn) kick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rouse()
}

// rouse is kick; the caller holds mu.
func (c *conn) rouse() {
	switch {
	case c.cause != nil:
	case c.sender == asleep:
		c.sender = sending
		c.loops.Go(c.send)
	default:
		c.sender = reminded
	}
}

// rests ends the sender unless it was reminded.
func (c *conn) rests() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sender == reminded && c.cause == nil {
		c.sender = sending
		return false
	}
	c.sender = asleep
	return true
}

// send sends until there is nothing left to send. Nothing follows PARK.
func (c *conn) send() {
	for {
		sent, err := c.sendOnce()
		if err != nil {
			c.close(err)
			return
		}
		if !sent && c.rests() {
			return
		}
	}
}

// sendOnce writes queued frames and acknowledgements, or stdin if there are none. It reports whether
// there was something to send. It returns errParked after PARK.
func (c *conn) sendOnce() (sent bool, err error) {
	c.mu.Lock()
	queue, acks, closed := c.queue, c.ackDue, c.cause != nil
	c.queue, c.ackDue = nil, false
	if c.late != nil {
		c.late.Stop()
	}
	c.mu.Unlock()
	if closed {
		return false, nil
	}
	b := c.buf[:0]
	parked, pings := false, false
	for _, f := range queue {
		if b, err = wire.Append(b, f); err != nil {
			return false, err
		}
		pings = pings || f.Type == wire.Ping
		if parked = f.Type == wire.Park; parked {
			break
		}
	}
	if acks && !parked {
		if b, err = c.link.appendAcks(c, b, c.pace); err != nil {
			return false, err
		}
	}
	if len(b) == 0 {
		b = c.link.appendStdin(c, b)
	}
	if len(b) == 0 {
		if cap(c.buf) > keptBuffer {
			c.buf = nil
		}
		return false, nil
	}
	c.pulse.writes.Store(int64(c.age()))
	if _, err := c.rw.Write(b); err != nil {
		return false, err
	}
	if parked {
		return true, errParked
	}
	c.pulse.wrote(c.age(), pings)
	if c.buf = b[:0]; cap(b) > 2*wire.MaxData {
		c.buf = nil
	}
	return true, nil
}
