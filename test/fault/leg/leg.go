package leg

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/link"
)

// Leg is a proxy in front of one address.
type Leg struct {
	ln   net.Listener
	tap  *Tap
	wg   sync.WaitGroup
	stop context.CancelFunc

	mu     sync.Mutex
	to     [2]string // network, address
	pairs  map[*pair]struct{}
	newest *pair
	next   *Strike // for the next connection
	every  Strike  // each connection gets a copy, if After is set
	closed bool

	accepted []time.Time
}

// Listen makes a leg from an address ("127.0.0.1:0", or a path for "unix") to another address. tap may be nil.
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

// Addr returns the address where the leg listens.
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

// Redirect makes later connections go to another address.
func (l *Leg) Redirect(network, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = [2]string{network, to}
}

func (l *Leg) serve(ctx context.Context, near net.Conn) {
	l.mu.Lock()
	to := l.to
	l.mu.Unlock()
	far, err := (&net.Dialer{}).DialContext(ctx, to[0], to[1])
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

// Arm sets s on the newest connection. If there is no connection, it sets s on the next one: a server may have
// answered before it has dialed the next leg.
func (l *Leg) Arm(s *Strike) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest == nil {
		l.next = s
		return
	}
	l.newest.arm(s)
}

// ArmNext sets s on the next connection. nil removes it.
func (l *Leg) ArmNext(s *Strike) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = s
}

// Mortal makes every new connection die by RST after n bytes in one direction. 0 turns that off.
func (l *Leg) Mortal(way Way, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.every.Way, l.every.After = way, n
}

// Cut resets every connection, including stalled ones.
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

// Dialer taps the frames that a launcher sends, before they enter the first leg.
type Dialer struct {
	link.Dialer
	Tap *Tap
}

// Dial implements link.Dialer.
func (d Dialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c, err := d.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &tapped{ReadWriteCloser: c, tap: d.Tap}, nil
}

type tapped struct {
	io.ReadWriteCloser
	tap     *Tap
	scanner scanner
}

// Tapped returns c with a tap on what is written to it.
func Tapped(c net.Conn, tap *Tap) net.Conn {
	return &tappedConn{Conn: c, out: tapped{ReadWriteCloser: c, tap: tap}}
}

type tappedConn struct {
	net.Conn
	out tapped
}

// Write implements net.Conn.
func (c *tappedConn) Write(p []byte) (int, error) { return c.out.Write(p) }

// Write sends the bytes before the awaited frame, calls back, and sends the rest.
func (c *tapped) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n := c.tap.before(&c.scanner, p[done:])
		if n == 0 {
			n = len(p) - done
		}
		c.scanner.advance(p[done : done+n])
		m, err := c.ReadWriteCloser.Write(p[done : done+n])
		done += m
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Fault is what a leg does to a connection.
type Fault string

// The faults of a leg.
const (
	FIN       Fault = "FIN"       // clean end of both directions; later bytes are dropped
	RST       Fault = "RST"       // reset of both halves; on a unix socket a close with bytes unread
	Stall     Fault = "stall"     // nothing passes any more, and no side gets an error
	Throttle  Fault = "throttle"  // 10 KB/s for half a second
	Bytewise  Fault = "bytewise"  // 2 KiB of each direction in writes of one byte
	Close1000 Fault = "close1000" // the protocol's clean close without a status, then FIN
	Forge     Fault = "forge"     // `Status: Success` on the error channel, clean close, FIN
	Corrupt   Fault = "corrupt"   // one bit of the next byte is changed
)

// Way is a direction.
type Way int

// The directions of a leg.
const (
	Down Way = iota // launcher to worker
	Up              // worker to launcher
)

// Strike is one fault at one position of a connection.
type Strike struct {
	Fault Fault
	Way   Way
	// After is how many more bytes pass in the direction Way before the fault.
	After int
	// OneWay makes Stall stop only the direction Way.
	OneWay bool
	// Begin, if set, is called when the fault strikes, before it has any effect.
	Begin func()

	struck atomic.Bool
}

// Struck reports whether the fault has been carried out.
func (s *Strike) Struck() bool { return s.struck.Load() }

// Cuts reports whether the fault ends a connection, sooner or later.
func (f Fault) Cuts() bool { return f != Throttle && f != Bytewise }

// Stall silences the newest connection now, in both directions. It reports whether there is a connection.
func (l *Leg) Stall() bool {
	l.mu.Lock()
	p := l.newest
	l.mu.Unlock()
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = [2]bool{true, true}
	return true
}

// End ends every connection at once, by FIN or by RST, and returns their number.
func (l *Leg) End(f Fault) int {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.pairs))
	l.newest = nil
	l.mu.Unlock()
	for _, p := range all {
		if f == FIN {
			p.finish()
		} else {
			p.cut()
		}
	}
	return len(all)
}

// Accepted returns the times at which connections were accepted, and clears the list.
func (l *Leg) Accepted() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.accepted
	l.accepted = nil
	return at
}
