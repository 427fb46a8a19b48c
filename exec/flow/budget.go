package flow

import "sync"

// Budget limits the bytes that all spools of a process hold together. It may be used by several
// goroutines.
type Budget struct {
	mu   sync.Mutex
	left int64
}

// NewBudget returns a budget of n bytes.
func NewBudget(n int64) *Budget { return &Budget{left: n} }

// take reserves up to want bytes and returns how many it reserved.
func (b *Budget) take(want int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := int(min(int64(want), b.left))
	if got < 0 {
		got = 0
	}
	b.left -= int64(got)
	return got
}

func (b *Budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += int64(n)
}
