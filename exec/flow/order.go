package flow

import (
	"sync"
	"time"
)

const (
	// longestBehind limits how long a stream waits for the other one: a stalled reader or a broken
	// link must not hold up the other stream.
	longestBehind = 50 * time.Millisecond
	// mostMarks limits the memory of a stream whose sender alternates between streams byte by byte.
	// Bytes beyond this limit have no order.
	mostMarks = 1 << 10
)

// Order makes two streams write their bytes in the order of arrival: bytes of one wait until
// earlier bytes of the other have been written, for at most 50 ms. After a wait that timed out,
// nothing waits until the other reader makes progress. Order must be called before anything
// arrives, and only one goroutine at a time may call Put on either stream.
func Order(a, b *In) { a.behind.other, b.behind.other = b, a }

// behind orders a stream after another one. It is guarded by the lock of its In.
type behind struct {
	other *In // nil: the stream has no order
	marks []mark
	vain  bool   // the last wait for this stream timed out
	at    uint64 // value of written at that time
}

// mark is a position in a stream: bytes from offset at on are written after the other stream's
// bytes before offset owed.
type mark struct{ at, owed uint64 }

// owed returns the end of the bytes that still have to be written, or 0 if there are none. in may
// be nil.
func (in *In) owed() uint64 {
	if in == nil {
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.written == in.next {
		return 0
	}
	return in.next
}

// mark orders the bytes from offset at on after the other stream's bytes before owed. 0 means no
// order.
func (b *behind) mark(at, owed uint64) {
	if n := len(b.marks); owed > 0 && n < mostMarks && (n == 0 || b.marks[n-1].owed < owed) {
		b.marks = append(b.marks, mark{at, owed})
	}
}

// due returns the offset of the other stream that the byte at off has to wait for, or 0 for none. n
// is how many bytes may be written together with it.
func (b *behind) due(off uint64) (owed uint64, n int) {
	for len(b.marks) > 0 && b.marks[0].at <= off {
		owed = b.marks[0].owed
		b.marks = b.marks[1:]
	}
	n = writeSize
	if len(b.marks) > 0 {
		n = int(min(uint64(n), b.marks[0].at-off))
	}
	return owed, n
}

// turn waits until the next byte may be written, and returns how many bytes may be written at once.
func (in *In) turn() int {
	in.mu.Lock()
	owed, n := in.behind.due(in.written)
	in.mu.Unlock()
	if owed > 0 {
		in.behind.other.awaitWritten(owed)
	}
	return n
}

// awaitWritten waits until the bytes before off have been written.
func (in *In) awaitWritten(off uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	b := &in.behind
	if b.vain && b.at == in.written {
		return
	}
	b.vain = !await(&in.wrote, longestBehind, func() bool { return in.written >= off })
	b.at = in.written
}

// await waits until ok returns true, for at most d, and reports whether it did. The caller holds
// the lock of cond. Code that changes the result of ok must broadcast.
func await(cond *sync.Cond, d time.Duration, ok func() bool) bool {
	late := false
	timer := time.AfterFunc(d, func() {
		cond.L.Lock()
		defer cond.L.Unlock()
		late = true
		cond.Broadcast()
	})
	defer timer.Stop()
	for !ok() && !late {
		cond.Wait()
	}
	return ok()
}
