package tree

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/relay"
)

// Dial opens a connection to a TCP address.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// Worker is one that can be dialed.
type Worker struct {
	Name    string // of its pod
	UID     string // of its pod
	Address string // host and port
}

// Seal opens the trunk to a worker: it dials the worker's address and authenticates both sides.
type Seal func(ctx context.Context, w Worker, dial Dial) (io.ReadWriteCloser, error)

// Tree is the tree of one launcher. Any goroutine may use it.
type Tree struct {
	direct Dial
	seal   Seal
	fanOut int
	expect int

	mu        sync.Mutex
	places    []*place // by position; nil: free
	positions map[string]int
	closed    bool
}

// place is a worker at its position.
type place struct {
	worker Worker
	opens  chan struct{} // holds one token while its trunk is being opened
	trunk  *relay.Trunk  // nil: none
	failed error         // of the latest attempt to open it
	until  time.Time     // nobody tries again before
}

// New returns an empty tree for the expected number of workers; it can have more. direct dials
// without a relay. seal authenticates trunks.
func New(expect int, direct Dial, seal Seal) *Tree {
	return &Tree{direct: direct, seal: seal, fanOut: FanOut, expect: expect, positions: map[string]int{}}
}

// size returns the number of workers that the tree has or is to have.
func (t *Tree) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.expect, len(t.places))
}

// Join gives a worker the lowest free position. A worker with another address replaces the one of
// the same name.
func (t *Tree) Join(w Worker) {
	var left *relay.Trunk
	defer func() { end(left) }()
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.positions[w.Name]; ok {
		if t.places[at].worker == w {
			return
		}
		left = t.leave(at)
	}
	at := 0
	for at < len(t.places) && t.places[at] != nil {
		at++
	}
	if at == len(t.places) {
		t.places = append(t.places, nil)
	}
	t.places[at] = &place{worker: w, opens: make(chan struct{}, 1)}
	t.positions[w.Name] = at
}

// Leave takes a worker out of the tree. Its trunk ends, and with it the lanes to workers behind it.
func (t *Tree) Leave(name string) {
	var left *relay.Trunk
	defer func() { end(left) }()
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.positions[name]; ok {
		left = t.leave(at)
	}
}

// leave frees a position, and returns its trunk for end. The caller holds mu.
func (t *Tree) leave(at int) *relay.Trunk {
	p := t.places[at]
	delete(t.positions, p.worker.Name)
	t.places[at] = nil
	return p.trunk
}

// end closes a trunk, which may be nil. The caller does not hold mu, because dials wait for mu: the end of
// a trunk inside another one that takes no bytes takes seconds.
func end(trunk *relay.Trunk) {
	if trunk != nil {
		trunk.Close()
	}
}

// Close ends all trunks. Later dials fail.
func (t *Tree) Close() {
	var left []*relay.Trunk
	t.mu.Lock()
	t.closed = true
	for at, p := range t.places {
		if p != nil {
			left = append(left, t.leave(at))
		}
	}
	t.mu.Unlock()
	for _, trunk := range left {
		end(trunk)
	}
}
