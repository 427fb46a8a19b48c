package barrier

import (
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"
)

const (
	// Quiet is how long a connection may be silent before it is closed. A member sends three pings
	// in that time.
	Quiet = 12 * time.Second
	// writeTime is the limit for one write to a peer that does not read.
	writeTime = 10 * time.Second
	pingEvery = 4 * time.Second
)

// conn is a connection. It is sealed after both sides have proved that they hold the token. One
// goroutine receives and one sends.
type conn struct {
	net.Conn
	in, out *seal // nil before the proof
	most    int   // limit in bytes of a received payload after the proof
}

// receive reads a frame that arrives within d. Errors wrap ErrProtocol, or come from the
// connection.
func (c *conn) receive(d time.Duration) (kind, []byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		return 0, nil, err
	}
	if c.in == nil {
		k, payload, _, err := readFrame(c, maxUnproved, 0)
		return k, payload, err
	}
	k, payload, sum, err := readFrame(c, c.most, proofSize)
	if err != nil {
		return 0, nil, err
	}
	if !hmac.Equal(sum, c.in.next(k, payload)) {
		return 0, nil, fmt.Errorf("%w: wrong seal of a frame", ErrProtocol)
	}
	return k, payload, nil
}

// expect reads a frame of the handshake.
func (c *conn) expect(want kind) ([]byte, error) {
	k, payload, err := c.receive(handshakeTime)
	if err == nil && k != want {
		err = fmt.Errorf("%w: frame of kind %d, want %d", ErrProtocol, k, want)
	}
	return payload, err
}

// send writes a frame.
func (c *conn) send(k kind, payload []byte) error {
	if len(payload) > k.limit() {
		return fmt.Errorf("frame is too long: %d bytes, at most %d", len(payload), k.limit())
	}
	if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	head := appendHeader(make([]byte, 0, headerSize), k, len(payload))
	var seal []byte
	if c.out != nil {
		seal = c.out.next(k, payload)
	}
	if len(payload) < longOrder {
		_, err := c.Write(slices.Concat(head, payload, seal))
		return err
	}
	parts := net.Buffers{head, payload, seal} // without a copy: payload may go to thousands
	_, err := parts.WriteTo(c.Conn)
	return err
}

// say sends a value as JSON.
func (c *conn) say(k kind, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a frame: %w", err)
	}
	return c.send(k, payload)
}

// decode reads a value from a payload.
func decode(payload []byte, v any) error {
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}
