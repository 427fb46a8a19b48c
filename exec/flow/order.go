package flow

import (
	"sync"
	"time"
)

const (
	// longestBehind bounds how long a stream waits for another one: a reader that stalls, or a
	// link that is down, must not hold up the other stream.
	longestBehind = 50 * time.Millisecond
	// mostMarks bounds the memory of a stream whose far side alternates bytes. What comes
	// beyond is in no order.
	mostMarks = 1 << 10
)

// Order has two streams written in the order in which their bytes arrive: bytes of one wait
// until those of the other that came before have been written, 50 ms at most. After a wait in
// vain nothing waits until the other reader goes on. Order is called before anything arrives,
// and one goroutine at a time calls Put for both.
func Order(a, b *In) { a.behind.other, b.behind.other = b, a }

// behind is the place of a stream behind another one. It is guarded by its In's lock.
type behind struct {
	other *In // nil: the stream is in no order
	marks []mark
	vain  bool   // the last wait for this stream's bytes was in vain
	at    uint64 // what had been written then
}

// mark is a place in a stream: bytes from at on go behind the other stream's bytes before
// owed.
type mark struct{ at, owed uint64 }

// owed returns where the bytes end that are yet to be written; 0: all are. in may be nil.
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

// mark puts what comes from at on behind what the other stream owes; 0: nothing.
func (b *behind) mark(at, owed uint64) {
	if n := len(b.marks); owed > 0 && n < mostMarks && (n == 0 || b.marks[n-1].owed < owed) {
		b.marks = append(b.marks, mark{at, owed})
	}
}

// due returns what the byte at off has to wait for, 0 for nothing, and how many bytes may
// follow it at once.
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

// turn waits until the next byte may be written, and returns how many may be at once.
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

// await waits until ok, d at most, and reports whether it is. Called with the lock of cond
// held; whoever changes what ok looks at broadcasts.
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
