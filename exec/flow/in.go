package flow

import (
	"fmt"
	"io"
	"sync"
)

// writeSize is the most bytes that go to the writer in one Write, and are acknowledged together.
// With a slow reader, acknowledgements then come early enough to keep the window moving.
const writeSize = 64 << 10

// In is the receiving half of a stream. Put and End take what arrives. Run passes it to the writer.
type In struct {
	mu     sync.Mutex
	wake   sync.Cond
	wrote  sync.Cond // signaled when bytes have been written
	window uint64
	acked  func()

	next    uint64 // offset of the next expected byte
	written uint64 // the bytes before this offset reached the writer
	pending []byte // the bytes from next-len(pending) to next
	spare   []byte // the previous buffer of pending, for reuse
	moved   bool   // bytes arrived since the last Trim
	end     uint64
	ended   bool
	closed  bool

	behind behind
}

// NewIn returns a receiving half that holds at most window bytes. It calls acked, which must not
// block, when Written has grown.
func NewIn(window int, acked func()) *In {
	in := &In{window: uint64(window), acked: acked}
	in.wake.L, in.wrote.L = &in.mu, &in.mu
	return in
}

// Put takes the bytes that start at offset off, and drops those that it has already received. It
// returns an error for a gap, for bytes after the end, and for more bytes than the window allows:
// the sender has broken the protocol.
func (in *In) Put(off uint64, p []byte) error {
	owed := in.behind.other.owed()
	in.mu.Lock()
	defer in.mu.Unlock()
	if off > in.next {
		return fmt.Errorf("bytes start at %d, want %d", off, in.next)
	}
	skip := in.next - off
	if skip >= uint64(len(p)) {
		return nil
	}
	p = p[skip:]
	if in.closed {
		in.next += uint64(len(p))
		in.written = in.next
		in.wrote.Broadcast()
		in.acked()
		return nil
	}
	if in.ended && in.next+uint64(len(p)) > in.end {
		return fmt.Errorf("bytes after the end at %d", in.end)
	}
	if in.next-in.written+uint64(len(p)) > in.window {
		return fmt.Errorf("%d bytes over the window of %d", in.next-in.written+uint64(len(p))-in.window, in.window)
	}
	in.moved = true
	in.behind.mark(in.next, owed)
	in.pending = append(in.pending, p...)
	in.next += uint64(len(p))
	in.wake.Signal()
	return nil
}

// End records that the stream ends at offset off. It returns an error if the end was another one
// before, or if bytes after off have been received.
func (in *In) End(off uint64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if off < in.next || in.ended && off != in.end {
		return fmt.Errorf("end at %d after %d bytes", off, in.next)
	}
	in.ended, in.end = true, off
	in.wake.Signal()
	return nil
}

// Received returns the offset from which a new connection must continue.
func (in *In) Received() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.next
}

// Written returns the offset before which all bytes reached the writer. This is the offset to
// acknowledge.
func (in *In) Written() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.written
}

// AckDue returns the offset to acknowledge, where last is the last acknowledged offset. An
// acknowledgement is due when everything received has been written, or a quarter of the window. One
// acknowledgement per write would wake up every process on its way.
func (in *In) AckDue(last uint64) (off uint64, due bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.written, in.written > last && (in.written == in.next || in.written-last >= in.window/4)
}

// Finished reports whether every byte up to the end reached the writer.
func (in *In) Finished() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ended && in.written == in.end
}

// Abort makes Run return after its current write. Later bytes are acknowledged and dropped.
func (in *In) Abort() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closeLocked()
	in.wake.Signal()
}

func (in *In) closeLocked() {
	in.closed = true
	in.pending, in.spare = nil, nil
	in.written = in.next
	in.behind.marks = nil
	in.wrote.Broadcast()
}

// Run writes arriving bytes to w in order. It returns nil when the stream has ended or Abort was
// called, and the error of w if w fails. After such an error bytes are acknowledged and dropped. Only
// one call of Run or Flush at a time may use the stream.
func (in *In) Run(w io.Writer) error {
	for {
		in.mu.Lock()
		for len(in.pending) == 0 && !in.closed && !(in.ended && in.written == in.end) {
			in.wake.Wait()
		}
		over := len(in.pending) == 0
		in.mu.Unlock()
		if over {
			return nil
		}
		if err := in.Flush(w); err != nil {
			return err
		}
	}
}

// Flush writes the bytes to w that have arrived, and does not wait for others. Its error is that of
// Run.
func (in *In) Flush(w io.Writer) error {
	for {
		in.mu.Lock()
		batch := in.pending
		if len(batch) == 0 {
			in.mu.Unlock()
			return nil
		}
		in.pending, in.spare = in.spare[:0], nil
		in.mu.Unlock()

		if err := in.write(w, batch); err != nil {
			in.mu.Lock()
			in.closeLocked()
			in.mu.Unlock()
			in.acked()
			return err
		}
		in.mu.Lock()
		if !in.closed {
			in.spare = batch
		}
		in.mu.Unlock()
	}
}

// Pending reports whether bytes have arrived that are not being written yet.
func (in *In) Pending() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.pending) > 0
}

// Trim frees the buffers of a stream that has been idle since the last Trim. A busy stream reuses
// its buffers, but a burst must not keep its memory forever.
func (in *In) Trim() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.moved && len(in.pending) == 0 {
		in.pending, in.spare = nil, nil
	}
	in.moved = false
}

func (in *In) write(w io.Writer, batch []byte) error {
	for len(batch) > 0 {
		n, err := w.Write(batch[:min(len(batch), in.turn())])
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		batch = batch[n:]
		in.mu.Lock()
		if !in.closed {
			in.written += uint64(n)
		}
		in.wrote.Broadcast()
		in.mu.Unlock()
		in.acked()
		if err != nil {
			return err
		}
	}
	return nil
}
