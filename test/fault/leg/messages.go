package leg

import (
	"bytes"
	"encoding/binary"
)

// messages follows what a server sends: an HTTP answer's head, then WebSocket
// frames (RFC 6455) or SPDY/3.1 ones, so that another can be put between two.
type messages struct {
	head  []byte // what has come of the answer's head, then of a frame's
	kind  kind
	left  int  // of the present frame
	whole bool // the last byte taken ended a frame, or the head
}

type kind int

const (
	undecided kind = iota
	webSocket
	spdy
	opaque // no upgrade: nothing can be slipped in
)

// boundary reports whether a message may be put in here.
func (m *messages) boundary() bool { return m.whole && (m.kind == webSocket || m.kind == spdy) }

// take counts bytes up to the next boundary, at most len(b), and returns how many.
func (m *messages) take(b []byte) int {
	m.whole = false
	switch m.kind {
	case opaque:
		return len(b)
	case undecided:
		return m.answer(b)
	}
	n := 0
	for n < len(b) && m.left == 0 {
		m.head = append(m.head, b[n])
		n++
		if size, ok := m.size(); ok {
			m.left, m.head = size, m.head[:0]
			if size == 0 {
				m.whole = true
				return n
			}
		}
	}
	step := min(m.left, len(b)-n)
	m.left -= step
	m.whole = m.left == 0 && step > 0
	return n + step
}

// size is the payload's length, once the frame's head is there.
func (m *messages) size() (int, bool) {
	h := m.head
	if m.kind == spdy {
		if len(h) < 8 {
			return 0, false
		}
		return int(h[5])<<16 | int(h[6])<<8 | int(h[7]), true
	}
	if len(h) < 2 {
		return 0, false
	}
	switch n := int(h[1] & 0x7f); n { // servers do not mask
	case 126:
		if len(h) < 4 {
			return 0, false
		}
		return int(binary.BigEndian.Uint16(h[2:])), true
	case 127:
		if len(h) < 10 {
			return 0, false
		}
		return int(binary.BigEndian.Uint64(h[2:])), true
	default:
		return n, true
	}
}

// answer takes the head of the HTTP answer and learns what follows.
func (m *messages) answer(b []byte) int {
	for i, c := range b {
		m.head = append(m.head, c)
		if !bytes.HasSuffix(m.head, []byte("\r\n\r\n")) {
			continue
		}
		switch low := bytes.ToLower(m.head); {
		case !bytes.HasPrefix(low, []byte("http/1.1 101")):
			m.kind = opaque
		case bytes.Contains(low, []byte("upgrade: websocket")):
			m.kind = webSocket
		default:
			m.kind = spdy
		}
		m.head, m.whole = m.head[:0], true
		return i + 1
	}
	return len(b)
}

const success = `{"metadata":{},"status":"Success"}`

// last is the message by which a server ends a stream: with a status of
// success, or without one.
func (m *messages) last(f Fault) []byte {
	var b []byte
	if m.kind == webSocket {
		if f == Forge {
			b = append(b, 0x82, byte(1+len(success)), 3)
			b = append(b, success...)
		}
		return append(b, 0x88, 2, 0x03, 0xe8)
	}
	// Both client-go and our dialer open the error stream first, then stdin,
	// stdout and stderr: 1, 3, 5, 7.
	if f == Forge {
		b = append(b, 0, 0, 0, 1, 1, 0, 0, byte(len(success)))
		b = append(b, success...)
		b = append(b, 0, 0, 0, 5, 1, 0, 0, 0)
		b = append(b, 0, 0, 0, 7, 1, 0, 0, 0)
	}
	return append(b, 0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0) // GOAWAY, OK
}
