package secure

import "sync"

// buffer holds one record, or a part of it. It is borrowed while it is needed.
type buffer struct {
	bytes []byte
	from  *sync.Pool
}

// sizes are those of buffers in bytes. Thousands of connections may wait at once for a slow connection
// below, each with a buffer, so it should not be much larger than its record. The start of a process has
// one or two kilobytes.
var sizes = [...]int{512, 4 << 10, frameSize}

// pools holds the buffers that nobody uses, by size.
var pools [len(sizes)]sync.Pool

// borrow returns a buffer of at least size bytes, at most frameSize.
func borrow(size int) *buffer {
	i := 0
	for size > sizes[i] {
		i++
	}
	if b, ok := pools[i].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, sizes[i]), &pools[i]}
}

// giveBack lets others use the buffer.
func (b *buffer) giveBack() { b.from.Put(b) }
