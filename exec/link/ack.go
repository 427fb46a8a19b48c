package link

import (
	"iter"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// ackWait is how long a small piece of output may wait for its acknowledgement: a
// rank that prints a few lines a second then costs the API server, and everybody
// else on the way, half of what each line and its acknowledgement would. It is well
// below the time after which a worker takes its reader for stalled.
const ackWait = 200 * time.Millisecond

// postpone has the acknowledgements that are not due sent after a while.
func (c *conn) postpone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ackTimer == nil && c.cause == nil {
		c.ackTimer = time.AfterFunc(ackWait, c.ackAll)
	}
}

func (c *conn) ackAll() {
	c.mu.Lock()
	c.ackTimer, c.ackDue, c.ackEager = nil, true, true
	c.mu.Unlock()
	c.kick()
}

// appendAcks adds an acknowledgement for each stream that has got on far enough,
// or, if eager, at all. Others are postponed, unless all together are much: the
// worker counts what is under way on the link, too.
func (l *Link) appendAcks(c *conn, b []byte, eager bool) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	owed := l.owed(c)
	eager = eager || owed >= wire.LinkWindow/4
	var err error
	for _, s := range l.sessions {
		if s.conn != c {
			continue
		}
		for stream, in := range s.outputs() {
			n, due := in.AckDue(s.acked[stream], eager)
			if !due {
				continue
			}
			owed -= n - s.acked[stream]
			s.acked[stream] = n
			b, err = wire.Append(b, wire.Frame{Type: wire.Ack, Stream: stream, Channel: s.channel, Offset: n})
			if err != nil {
				return b, err
			}
		}
	}
	if owed > 0 {
		c.postpone()
	}
	return b, nil
}

// owed are the bytes that were written and not acknowledged. Called with l.mu held.
func (l *Link) owed(c *conn) (sum uint64) {
	for _, s := range l.sessions {
		if s.conn != c {
			continue
		}
		for stream, in := range s.outputs() {
			sum += in.Written() - s.acked[stream]
		}
	}
	return sum
}

// outputs are the session's streams to us, by number.
func (s *Session) outputs() iter.Seq2[uint8, *flow.In] {
	return func(yield func(uint8, *flow.In) bool) {
		_ = yield(wire.Stdout, s.stdout) && yield(wire.Stderr, s.stderr)
	}
}
