package flow

import (
	"errors"
	"fmt"
	"sync"
)

// ErrClosed is returned by Out.Write when nobody reads the stream any more.
var ErrClosed = errors.New("stream closed by its reader")

// Out is the sending half of a stream. Its writer calls Write and End, its
// sender calls Next, and Ack, Resume and Discard as the far side answers. All
// methods may be called at once from several goroutines, but Write by one.
type Out struct {
	mu     sync.Mutex
	room   sync.Cond
	spool  spool
	window uint64
	ready  func()

	sent    uint64
	high    uint64 // highest offset ever sent
	ended   bool
	endSent bool
	closed  bool
}

// NewOut returns a sending half whose unacknowledged bytes never exceed
// window. It calls ready, which must not block, when there is something new
// to send.
func NewOut(window int, limits Limits, ready func()) *Out {
	o := &Out{window: uint64(window), ready: ready, spool: spool{limits: limits}}
	o.room.L = &o.mu
	return o
}

// WaitRoom blocks until the spool takes bytes and returns how many, at most
// want. It returns ErrClosed when nobody reads the stream any more.
func (o *Out) WaitRoom(want int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.closed {
			return 0, ErrClosed
		}
		if n := o.spool.room(want); n > 0 {
			return n, nil
		}
		o.room.Wait()
	}
}

// Write takes all of p, blocking while the spool is full. It returns ErrClosed
// when nobody reads the stream any more.
func (o *Out) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	total := len(p)
	for len(p) > 0 {
		if o.closed {
			return total - len(p), ErrClosed
		}
		n := o.spool.room(len(p))
		if n == 0 {
			o.room.Wait()
			continue
		}
		n, err := o.spool.append(p[:n], o.outside)
		p = p[n:]
		if n > 0 {
			o.ready()
		}
		if err != nil && !o.closed {
			// Nothing is lost: the rest of p waits for memory. What is said may go
			// to a descriptor that blocks.
			o.outside(func() { o.spool.limits.Files.failed(err) })
		}
	}
	return total, nil
}

// outside runs f without the lock, which its caller holds.
func (o *Out) outside(f func()) {
	o.mu.Unlock()
	defer o.mu.Lock()
	f()
}

// End marks the end of the stream after what was written.
func (o *Out) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.ended = true
		o.ready()
	}
}

// Piece is what Next gives to the sender: N bytes from Offset on, or the end
// of the stream at Offset.
type Piece struct {
	Offset uint64
	N      int
	End    bool
}

// Next copies bytes to be sent now into p, at most what the window allows, and
// counts them as sent. ok is false when there is nothing to send.
func (o *Out) Next(p []byte) (piece Piece, ok bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return Piece{}, false, nil
	}
	allowed := o.spool.base + o.window - o.sent
	n, err := o.spool.readAt(p[:min(uint64(len(p)), allowed)], o.sent)
	if err != nil {
		return Piece{}, false, err
	}
	if n > 0 {
		piece = Piece{Offset: o.sent, N: n}
		o.sent += uint64(n)
		o.high = max(o.high, o.sent)
		return piece, true, nil
	}
	if o.ended && !o.endSent && o.sent == o.spool.end {
		o.endSent = true
		return Piece{Offset: o.sent, End: true}, true, nil
	}
	return Piece{}, false, nil
}

// InFlight is the number of bytes sent and not acknowledged.
func (o *Out) InFlight() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int(o.sent - o.spool.base)
}

// Ack frees everything before off. An offset that was never sent is an error.
func (o *Out) Ack(off uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if off > o.high {
		return fmt.Errorf("acknowledged %d of %d sent bytes", off, o.high)
	}
	if o.closed || off <= o.spool.base {
		return nil // late: an acknowledgement may arrive twice over two connections
	}
	o.spool.ack(off)
	o.sent = max(o.sent, off)
	o.room.Broadcast()
	o.ready()
	return nil
}

// Resume goes on from off on a new connection: the far side has received
// everything before it. An offset outside of what is held is an error.
func (o *Out) Resume(off uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	if off < o.spool.base || off > o.high {
		return fmt.Errorf("resume at %d: held are %d to %d", off, o.spool.base, o.high)
	}
	o.sent = off
	o.endSent = false
	o.ready()
	return nil
}

// Discard drops everything now and to come, and wakes a blocked writer with
// ErrClosed.
func (o *Out) Discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.spool.release()
		o.sent = o.spool.base // nothing is in flight any more
		o.room.Broadcast()
	}
}

// Total is the number of bytes written so far, and whether the stream has ended.
func (o *Out) Total() (n uint64, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spool.end, o.ended
}

// Unread is the number of bytes written that are not acknowledged, sent or not.
func (o *Out) Unread() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0
	}
	return o.spool.end - o.spool.base
}
