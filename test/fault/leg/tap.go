package leg

import (
	"bytes"
	"encoding/binary"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// Watch is a frame to wait for: of a type, and for DATA of a stream, the one
// that has the byte at Offset.
type Watch struct {
	Type   wire.Type
	Stream uint8
	Offset uint64
}

// Tap looks at the frames of one direction. Its callback runs before the first
// byte of the frame passes, with the frame's whole length.
type Tap struct {
	mu    sync.Mutex
	watch *Watch
	hook  func(length int)
}

// On waits for one frame; the callback is called once.
func (t *Tap) On(w Watch, hook func(length int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch, t.hook = &w, hook
}

// Off forgets what was waited for.
func (t *Tap) Off() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch, t.hook = nil, nil
}

// before returns how many bytes of b may pass before the frame waited for; with
// none before it, it calls back and returns 0: then everything may pass.
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

// scanner follows frames in a byte stream.
type scanner struct {
	head []byte
	left int
}

func (s *scanner) advance(b []byte) {
	s.walk(b, func(int, []byte) bool { return true })
}

// find looks for a frame that w wants and whose head is whole in b.
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

// walk calls f for every head that is completed in b, with the place of its
// first byte, which is negative when it came earlier.
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

// carryOut does what s says; way is the direction that met it.
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
	case Close1000, Forge:
		// The rest of the message that is under way comes first; struck is
		// noted when it has been slipped in.
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

// abort resets both sides. A unix socket knows no reset; its peer gets
// ECONNRESET when bytes of its own are unread, as those are that met the strike.
func (p *pair) abort() { p.cut() }

// finish ends both directions in order and drops what still comes.
func (p *pair) finish() {
	p.mu.Lock()
	p.drop = true
	p.mu.Unlock()
	for _, c := range p.ends {
		if h, ok := c.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite() // gone already: as good
		}
	}
}

// slipIn sends what is to be injected if a message has just ended, and reports
// whether it did. Called with upMu held.
func (p *pair) slipIn() bool {
	p.mu.Lock()
	what, s := p.inject, p.injected
	p.mu.Unlock()
	if what == "" || !p.messages.boundary() {
		return false
	}
	_, _ = p.ends[Down].Write(p.messages.last(what)) // a peer that has gone needs none
	p.mu.Lock()
	p.inject = ""
	p.mu.Unlock()
	p.finish()
	s.struck.Store(true)
	return true
}
