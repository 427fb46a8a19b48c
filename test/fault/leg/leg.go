package leg

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Leg is a proxy in front of one address.
type Leg struct {
	ln   net.Listener
	to   [2]string // network, address
	tap  *Tap
	wg   sync.WaitGroup
	stop context.CancelFunc

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	newest *pair
	next   *Strike // for the connection to come
	every  Strike  // each connection gets a copy, if After is set
	closed bool

	accepted []time.Time
}

// Listen makes a leg at an address ("127.0.0.1:0", or a path for "unix") that
// leads to another. tap may be nil.
func Listen(network, address, toNetwork, to string, tap *Tap) (*Leg, error) {
	ln, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("open leg: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Leg{ln: ln, to: [2]string{toNetwork, to}, tap: tap, stop: stop, pairs: map[*pair]struct{}{}}
	l.wg.Go(func() { l.accept(ctx) })
	return l, nil
}

// Addr is where the leg listens.
func (l *Leg) Addr() string { return l.ln.Addr().String() }

func (l *Leg) accept(ctx context.Context) {
	for {
		c, err := l.ln.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		l.accepted = append(l.accepted, time.Now())
		l.mu.Unlock()
		l.wg.Go(func() { l.serve(ctx, c) })
	}
}

func (l *Leg) serve(ctx context.Context, near net.Conn) {
	far, err := (&net.Dialer{}).DialContext(ctx, l.to[0], l.to[1])
	if err != nil {
		near.Close()
		return
	}
	p := newPair(near, far, l.tap)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		p.cut()
		return
	}
	l.pairs[p], l.newest = struct{}{}, p
	if p.strike = l.next; p.strike == nil && l.every.After > 0 {
		p.strike = &Strike{Fault: RST, Way: l.every.Way, After: l.every.After}
	}
	l.next = nil
	l.mu.Unlock()
	p.run()
	l.mu.Lock()
	delete(l.pairs, p)
	if l.newest == p {
		l.newest = nil
	}
	l.mu.Unlock()
}

// Arm lays s on the newest connection, or, while there is none, on the next: a
// server may have answered before it has dialled on.
func (l *Leg) Arm(s *Strike) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest == nil {
		l.next = s
		return
	}
	l.newest.arm(s)
}

// ArmNext lays s on the connection that is made next; nil takes it away.
func (l *Leg) ArmNext(s *Strike) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = s
}

// Mortal lets every connection made from now on die by RST after n bytes of one
// direction. 0 ends that.
func (l *Leg) Mortal(way Way, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.every.Way, l.every.After = way, n
}

// Cut resets every connection, stalled ones too.
func (l *Leg) Cut() { l.End(RST) }

// Close ends the leg and every connection, and waits for its goroutines.
func (l *Leg) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.ln.Close()
	l.Cut()
	l.wg.Wait()
}
