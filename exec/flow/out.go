package flow

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// stallAfter is how long a full memory spool waits for an ACK before the writer continues into
// files. Without an ACK for that long, the reader is stalled or the link is down. Until then the
// writer waits, as for a full pipe: a writer that is faster than the link would otherwise send
// everything through files, and gain nothing.
const stallAfter = 500 * time.Millisecond

// ErrClosed is returned by Out.Write and Out.WaitRoom when nobody reads the stream any longer.
var ErrClosed = errors.New("stream closed by its reader")

// Out is the sending half of a stream. Its writer calls Write and End. Its sender calls Next, and
// Ack, Resume and Discard for the answers of the receiver. All methods may be called by several
// goroutines at once, except Write.
type Out struct {
	mu     sync.Mutex
	room   sync.Cond
	spool  spool
	window uint64
	ready  func()

	sent    uint64
	high    uint64 // highest offset that was ever sent
	ended   bool
	endSent bool
	closed  bool

	gather gather

	stalled bool        // files may be used until something is acknowledged
	waiting bool        // the writer waits for room
	since   time.Time   // when the wait began, or the last acknowledgement after that
	timer   *time.Timer // calls stall
}

// NewOut returns a sending half that never has more than window unacknowledged bytes in flight. It
// calls ready, which must not block, when there is something new to send.
func NewOut(window int, limits Limits, ready func()) *Out {
	o := &Out{window: uint64(window), ready: ready, spool: spool{limits: limits}}
	o.room.L = &o.mu
	return o
}

// WaitRoom blocks until the spool has room, and returns for how many bytes, at most want. It
// returns ErrClosed when nobody reads the stream any longer.
func (o *Out) WaitRoom(want int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := o.await(want); n > 0 {
		return n, nil
	}
	return 0, ErrClosed
}

// await waits for room and returns its size in bytes, or 0 if the stream is closed. The caller
// holds the lock.
func (o *Out) await(want int) int {
	for !o.closed {
		if n := o.spool.room(want, o.stalled); n > 0 {
			o.waiting = false
			return n
		}
		if !o.waiting && !o.stalled {
			o.waiting, o.since = true, time.Now()
			if o.timer == nil {
				o.timer = time.AfterFunc(stallAfter, o.stall)
			} else {
				o.timer.Reset(stallAfter)
			}
		}
		o.room.Wait()
	}
	return 0
}

// stall lets a waiting writer continue into files if nothing has been acknowledged for stallAfter.
// If something has, stall sets the timer again.
func (o *Out) stall() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.waiting || o.closed {
		return
	}
	if left := stallAfter - time.Since(o.since); left > 0 {
		o.timer.Reset(left)
		return
	}
	o.stalled, o.waiting = true, false
	o.room.Broadcast()
}

// Write takes all of p, and blocks while the spool is full. It returns ErrClosed when nobody reads
// the stream any longer.
func (o *Out) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	total := len(p)
	for len(p) > 0 {
		n := o.await(len(p))
		if n == 0 {
			return total - len(p), ErrClosed
		}
		n, err := o.spool.append(p[:n], o.outside)
		p = p[n:]
		if n > 0 {
			o.offer()
		}
		if err != nil && !o.closed {
			// No byte is lost: the rest of p waits for memory. failed runs without the lock,
			// because it may log to a descriptor that blocks.
			o.outside(func() { o.spool.limits.Files.failed(err) })
		}
	}
	return total, nil
}

// outside runs f without the lock. The caller holds the lock.
func (o *Out) outside(f func()) {
	o.mu.Unlock()
	defer o.mu.Lock()
	f()
}

// End marks the end of the stream after the bytes written so far.
func (o *Out) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.ended = true
		o.ready()
	}
}

// Piece is the result of Next: N bytes from Offset on, or the end of the stream at Offset.
type Piece struct {
	Offset uint64
	N      int
	End    bool
}

// Next copies the bytes to be sent now into p, at most what the window allows, and counts them as
// sent. ok is false if there is nothing to send. An error means that a spill file cannot be read.
func (o *Out) Next(p []byte) (piece Piece, ok bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.held() > 0 {
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
		if o.gather.hurried {
			o.room.Broadcast() // wakes Hurry
		}
		o.gather.sent()
		return piece, true, nil
	}
	if o.ended && !o.endSent && o.sent == o.spool.end {
		o.endSent = true
		return Piece{Offset: o.sent, End: true}, true, nil
	}
	return Piece{}, false, nil
}

// Pending reports whether Next has something to send.
func (o *Out) Pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.held() > 0 {
		return false
	}
	unsent := o.spool.end - o.sent
	return unsent > 0 && o.sent < o.spool.base+o.window || unsent == 0 && o.ended && !o.endSent
}

// InFlight returns the number of bytes that are sent and not acknowledged.
func (o *Out) InFlight() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int(o.sent - o.spool.base)
}

// Ack frees all bytes before offset off. It returns an error for an offset that was never sent.
func (o *Out) Ack(off uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if off > o.high {
		return fmt.Errorf("acknowledged %d of %d sent bytes", off, o.high)
	}
	if o.closed || off <= o.spool.base {
		return nil // late: the same acknowledgement may arrive over two connections
	}
	o.spool.ack(off)
	o.stalled, o.since = false, time.Now()
	o.sent = max(o.sent, off)
	o.room.Broadcast()
	o.ready()
	return nil
}

// Resume continues from offset off on a new connection: the receiver has all bytes before it. It
// returns an error if off is not between the first unacknowledged byte and the last one sent.
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
	o.gather.hurried = true // held-back output has waited long enough during the interruption
	o.ready()
	return nil
}

// Discard drops all bytes, now and later, and wakes a blocked writer with ErrClosed.
func (o *Out) Discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		if o.timer != nil {
			o.timer.Stop()
		}
		o.gather.stop()
		o.spool.release()
		o.sent = o.spool.base // nothing is in flight any longer
		o.room.Broadcast()
	}
}

// Total returns the number of bytes written so far, and whether the stream has ended.
func (o *Out) Total() (n uint64, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spool.end, o.ended
}

// Unread returns the number of bytes that were written and not acknowledged, whether sent or not.
func (o *Out) Unread() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0
	}
	return o.spool.end - o.spool.base
}
