package secure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBorrowedBuffer checks that a buffer holds its record, and that the start of a process does not hold
// the buffer of the largest record while it waits.
func TestBorrowedBuffer(t *testing.T) {
	for _, c := range []struct{ size, most int }{{1, 512}, {512, 512}, {513, 4 << 10}, {2000, 4 << 10}, {4<<10 + 1, frameSize}, {frameSize, frameSize}} {
		b := borrow(c.size)
		require.GreaterOrEqual(t, len(b.bytes), c.size)
		require.LessOrEqual(t, len(b.bytes), c.most)
		b.giveBack()
	}
}
