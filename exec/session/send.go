//go:build linux

package session

import (
	"bufio"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// smallWrites is the size of the buffer in which frames are gathered for one write. Each write of a
// worker wakes every process between it and its launcher.
const smallWrites = 4 << 10

// send writes frames until the connection is closed: first the queue, then the sessions' output in
// turn.
func (c *conn) send() error {
	var buf []byte
	w := bufio.NewWriterSize(c.nc, smallWrites)
	pace := flow.NewPace(c.lookForAcks)
	defer pace.Stop()
	for {
		queue, acks, closed := c.take()
		if closed {
			return nil
		}
		if acks {
			queue = c.stdinAcks(queue, pace)
		}
		if err := writeFrames(w, queue); err != nil {
			return err
		}
		any, err := c.sendRound(w, &buf)
		if err != nil {
			return err
		}
		if any || len(queue) > 0 {
			continue // there may be more for the same write
		}
		if err := w.Flush(); err != nil {
			return err
		}
		c.written()
		<-c.kicked
	}
}

func (c *conn) take() (queue []wire.Frame, acks, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.tellFlushed()
	}
	queue, acks = c.queue, c.ackDue
	c.queue, c.ackDue = nil, false
	if len(queue) > 0 || c.patient.due {
		queue = append(c.patient.take(), queue...)
	}
	return queue, acks, c.closed
}

// written records that everything taken from the queue has been written.
func (c *conn) written() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		c.tellFlushed()
	}
}

// tellFlushed wakes the waiters in flush. The caller holds c.mu.
func (c *conn) tellFlushed() {
	for _, done := range c.flushed {
		close(done)
	}
	c.flushed = nil
}

// stdinAcks adds an acknowledgement for each session whose process has taken more stdin, if pace
// allows it now.
func (c *conn) stdinAcks(queue []wire.Frame, pace *flow.Pace) []wire.Frame {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	var bytes uint64
	over := false
	c.eachStdinAck(func(x *session, off uint64) {
		bytes += off - x.stdinAcked
		over = over || x.stdin.Finished()
	})
	if !pace.Due(bytes, over) {
		return queue
	}
	c.eachStdinAck(func(x *session, off uint64) {
		x.stdinAcked = off
		queue = append(queue, wire.Frame{Type: wire.Ack, Stream: wire.Stdin, Channel: x.channel, Offset: off})
	})
	return queue
}

// eachStdinAck calls do with each offset to acknowledge. The caller holds srv.mu.
func (c *conn) eachStdinAck(do func(x *session, off uint64)) {
	for _, x := range c.order {
		if off, due := x.stdin.AckDue(x.stdinAcked); due && x.conn.Load() == c {
			do(x, off)
		}
	}
}

// sendRound gives every session of the connection one turn, and reports whether it sent anything.
func (c *conn) sendRound(w *bufio.Writer, buf *[]byte) (bool, error) {
	c.srv.mu.Lock()
	order := c.order // replaced as a whole, never modified
	c.srv.mu.Unlock()
	inFlight := 0
	for _, x := range order {
		inFlight += x.stdout.InFlight() + x.stderr.InFlight()
	}
	sent := false
	for _, x := range order {
		for _, s := range [...]struct {
			number uint8
			out    *flow.Out
		}{{wire.Stdout, x.stdout}, {wire.Stderr, x.stderr}} {
			n, err := c.sendPiece(w, x, s.number, s.out, inFlight, buf)
			if err != nil {
				return sent, err
			}
			inFlight += n
			sent = sent || n > 0
		}
	}
	return sent, nil
}

// sendPiece sends at most one frame of a stream, and returns the number of its bytes. The end of a
// stream counts as one byte.
func (c *conn) sendPiece(w *bufio.Writer, x *session, stream uint8, out *flow.Out, inFlight int, buf *[]byte) (int, error) {
	allowed := max(min(wire.MaxData, wire.LinkWindow-inFlight), wire.StreamReserve-out.InFlight())
	if allowed <= 0 {
		return 0, nil
	}
	if cap(*buf) < wire.HeaderLen+allowed {
		*buf = make([]byte, wire.HeaderLen+wire.MaxData)
	}
	b := (*buf)[:wire.HeaderLen+allowed]
	piece, channel, ok, err := c.next(x, out, b[wire.HeaderLen:])
	if err != nil {
		c.srv.ruin(x, err)
		return 0, err
	}
	if !ok {
		return 0, nil
	}
	f := wire.Frame{Type: wire.Data, Stream: stream, Channel: channel, Offset: piece.Offset}
	if piece.End {
		f.Type = wire.EOF
	}
	wire.PutHeader(b, f, piece.N)
	if err := c.sendPatient(w); err != nil {
		return 0, err
	}
	_, err = w.Write(b[:wire.HeaderLen+piece.N])
	return max(1, piece.N), err
}

// next takes bytes only while the session belongs to this connection: another connection that has
// attached meanwhile has set its own offset.
func (c *conn) next(x *session, out *flow.Out, p []byte) (piece flow.Piece, channel uint32, ok bool, err error) {
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	if x.conn.Load() != c {
		return piece, 0, false, nil
	}
	piece, ok, err = out.Next(p)
	return piece, x.channel, ok, err
}
