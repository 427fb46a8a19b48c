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
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.positions[w.Name]; ok {
		if t.places[at].worker == w {
			return
		}
		t.leave(at)
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.positions[name]; ok {
		t.leave(at)
	}
}

func (t *Tree) leave(at int) {
	p := t.places[at]
	delete(t.positions, p.worker.Name)
	t.places[at] = nil
	if p.trunk != nil {
		p.trunk.Close()
	}
}

// Close ends all trunks. Later dials fail.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for at, p := range t.places {
		if p != nil {
			t.leave(at)
		}
	}
}
