package link

import (
	"iter"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// appendAcks appends an acknowledgement for each stream with new written bytes, if pace allows it
// now.
func (l *Link) appendAcks(c *conn, b []byte, pace *flow.Pace) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var bytes uint64
	over := false
	for a := range l.acks(c) {
		bytes += a.offset - a.session.acked[a.stream]
		over = over || a.in.Finished()
	}
	if !pace.Due(bytes, over) {
		return b, nil
	}
	var err error
	for a := range l.acks(c) {
		a.session.acked[a.stream] = a.offset
		b, err = wire.Append(b, wire.Frame{Type: wire.Ack, Stream: uint8(a.stream), Channel: a.session.channel, Offset: a.offset})
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// ack is an acknowledgement that is due.
type ack struct {
	session *Session
	stream  int
	in      *flow.In
	offset  uint64
}

// acks returns the acknowledgements that are due on c. The caller holds l.mu, also while it
// iterates.
func (l *Link) acks(c *conn) iter.Seq[ack] {
	return func(yield func(ack) bool) {
		for _, s := range l.work.sessions {
			if s.conn != c {
				continue
			}
			for stream, in := range [...]*flow.In{wire.Stdout: s.stdout, wire.Stderr: s.stderr} {
				if in == nil {
					continue
				}
				if offset, due := in.AckDue(s.acked[stream]); due && !yield(ack{s, stream, in, offset}) {
					return
				}
			}
		}
	}
}
