package leg

import (
	"bytes"
	"encoding/binary"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// Watch describes a frame to wait for, by its type. For DATA it is the frame of the stream that has the byte at
// Offset.
type Watch struct {
	Type   wire.Type
	Stream uint8
	Offset uint64
}

// Tap watches the frames of one direction. Its callback runs before the first byte of the frame passes, with the
// length of the whole frame.
type Tap struct {
	mu    sync.Mutex
	watch *Watch
	hook  func(length int)
}

// On waits for one frame, and calls the hook once.
func (t *Tap) On(w Watch, hook func(length int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch, t.hook = &w, hook
}

// Off stops waiting.
func (t *Tap) Off() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch, t.hook = nil, nil
}

// before returns how many bytes of b may pass before the awaited frame. If the frame is next, it calls the hook and
// returns 0. Then everything may pass.
func (t *Tap) before(s *scanner, b []byte) int {
	t.mu.Lock()
	w, hook := t.watch, t.hook
	if w == nil {
		t.mu.Unlock()
		return len(b)
	}
	at, length, found := s.find(b, *w)
	if found && at == 0 {
		t.watch, t.hook = nil, nil
	}
	t.mu.Unlock()
	switch {
	case !found:
		return len(b)
	case at == 0:
		hook(length)
	}
	return at
}

// scanner parses frames in a byte stream.
type scanner struct {
	head []byte
	left int
}

func (s *scanner) advance(b []byte) {
	s.walk(b, func(int, []byte) bool { return true })
}

// find searches b for a frame that matches w and whose header is complete.
func (s *scanner) find(b []byte, w Watch) (at, length int, found bool) {
	look := scanner{head: append([]byte(nil), s.head...), left: s.left}
	look.walk(b, func(pos int, head []byte) bool {
		size := int(binary.BigEndian.Uint32(head[8:]))
		off := binary.BigEndian.Uint64(head[12:])
		if wire.Type(head[0]) != w.Type {
			return true
		}
		if w.Type == wire.Data && (head[1] != w.Stream || w.Offset < off || w.Offset >= off+uint64(size)) {
			return true
		}
		at, length, found = max(pos, 0), wire.HeaderLen+size, true
		return false
	})
	return at, length, found
}

// walk calls f for every header that is completed in b, with the position of its first byte. The position is
// negative if the header began in earlier bytes.
func (s *scanner) walk(b []byte, f func(pos int, head []byte) bool) {
	for i := 0; i < len(b); {
		if s.left > 0 {
			n := min(s.left, len(b)-i)
			s.left -= n
			i += n
			continue
		}
		n := min(wire.HeaderLen-len(s.head), len(b)-i)
		s.head = append(s.head, b[i:i+n]...)
		i += n
		if len(s.head) < wire.HeaderLen {
			return
		}
		head := s.head
		s.left, s.head = int(binary.BigEndian.Uint32(head[8:])), s.head[:0]
		if !f(i-wire.HeaderLen, head) {
			return
		}
	}
}

// messages parses what a server sends: the head of an HTTP answer, then frames of WebSocket (RFC 6455) or SPDY/3.1.
// So a message can be inserted between two frames.
type messages struct {
	head  []byte // the bytes so far of the answer's head, then of a frame's head
	kind  kind
	left  int  // of the current frame
	whole bool // the last byte ended a frame, or the head of the answer
}

type kind int

const (
	undecided kind = iota
	webSocket
	spdy
	opaque // no upgrade: nothing can be inserted
)

// boundary reports whether a message may be inserted here.
func (m *messages) boundary() bool { return m.whole && (m.kind == webSocket || m.kind == spdy) }

// take counts bytes up to the next boundary, at most len(b), and returns their number.
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

// size returns the payload's length if the frame's head is complete.
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
	switch n := int(h[1] & 0x7f); n { // servers do not set the mask bit
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

// answer consumes the head of the HTTP answer and sets kind to the protocol that follows.
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

// last returns the message with which a server ends a stream: with a status of success, or without a status.
func (m *messages) last(f Fault) []byte {
	var b []byte
	if m.kind == webSocket {
		if f == Forge {
			b = append(b, 0x82, byte(1+len(success)), 3)
			b = append(b, success...)
		}
		return append(b, 0x88, 2, 0x03, 0xe8)
	}
	// Both client-go and our dialer open the error stream first, then stdin, stdout and stderr. The stream IDs are
	// 1, 3, 5 and 7.
	if f == Forge {
		b = append(b, 0, 0, 0, 1, 1, 0, 0, byte(len(success)))
		b = append(b, success...)
		b = append(b, 0, 0, 0, 5, 1, 0, 0, 0)
		b = append(b, 0, 0, 0, 7, 1, 0, 0, 0)
	}
	return append(b, 0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0) // GOAWAY, OK
}

// carryOut causes the fault of s. way is the direction in which the strike was reached.
func (p *pair) carryOut(s *Strike, way Way) error {
	if s.Begin != nil {
		s.Begin()
	}
	switch s.Fault {
	case FIN:
		p.finish()
	case RST:
		p.abort()
	case Stall:
		p.mu.Lock()
		p.stalled[way] = true
		p.stalled[1-way] = p.stalled[1-way] || !s.OneWay
		p.mu.Unlock()
	case Throttle:
		p.mu.Lock()
		until := time.Now().Add(throttleTime)
		p.slow = [2]slowness{{until: until}, {until: until}}
		p.mu.Unlock()
	case Bytewise:
		p.mu.Lock()
		p.slow = [2]slowness{{left: bytewise}, {left: bytewise}}
		p.mu.Unlock()
	case Corrupt:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.flips[way] = s
		return nil
	case Close1000, Forge:
		// The rest of the current message comes first. slipIn sets struck when it has inserted the last message.
		p.upMu.Lock()
		defer p.upMu.Unlock()
		p.mu.Lock()
		p.inject, p.injected = s.Fault, s
		p.mu.Unlock()
		p.slipIn()
		return nil
	}
	s.struck.Store(true)
	return nil
}

// abort resets both sides. A unix socket has no reset. Its peer gets ECONNRESET if some of its bytes are unread,
// and the bytes that reached the strike are.
func (p *pair) abort() { p.cut() }

// finish ends both directions cleanly and drops later bytes.
func (p *pair) finish() {
	p.mu.Lock()
	p.drop = true
	p.mu.Unlock()
	for _, c := range p.ends {
		if h, ok := c.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite() // the connection may have ended, which is fine
		}
	}
}

// slipIn sends the pending message if another message has just ended, and reports whether it did. The caller holds
// upMu.
func (p *pair) slipIn() bool {
	p.mu.Lock()
	what, s := p.inject, p.injected
	p.mu.Unlock()
	if what == "" || !p.messages.boundary() {
		return false
	}
	_, _ = p.ends[Down].Write(p.messages.last(what)) // a peer that has disconnected needs none
	p.mu.Lock()
	p.inject = ""
	p.mu.Unlock()
	p.finish()
	s.struck.Store(true)
	return true
}
