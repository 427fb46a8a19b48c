package leg

import (
	"encoding/binary"
	"sync"

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
