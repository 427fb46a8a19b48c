package leg

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	chunk        = 64 << 10
	throttleRate = 10 << 10 // bytes a second
	throttleTime = 500 * time.Millisecond
	bytewise     = 2 << 10
)

// pair is one connection through the leg. ends[Down] is the launcher's side, where the bytes of Down arrive.
type pair struct {
	ends     [2]net.Conn
	tap      *Tap
	scanner  scanner       // of Up, for tap
	released chan struct{} // closed by cut: a stall ends

	mu       sync.Mutex
	strike   *Strike
	done     bool // the fault has struck
	drop     bool // read and throw away
	stalled  [2]bool
	slow     [2]slowness
	isCut    bool
	inject   Fault      // to insert at the next boundary of Up
	injected *Strike    // the strike behind inject
	flips    [2]*Strike // by way: change a bit of the next byte; nil: none

	upMu     sync.Mutex // held over writes to ends[Down]
	messages messages
}

// slowness is a temporary limit on the speed of one direction.
type slowness struct {
	left  int       // number of bytes still to send one by one
	until time.Time // throttled until then
}

func newPair(near, far net.Conn, tap *Tap) *pair {
	return &pair{ends: [2]net.Conn{Down: near, Up: far}, tap: tap, released: make(chan struct{})}
}

func (p *pair) arm(s *Strike) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strike, p.done = s, false
}

// cut resets both sides.
func (p *pair) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut {
		return
	}
	p.isCut = true
	close(p.released)
	for _, c := range p.ends {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		c.Close()
	}
}

func (p *pair) run() {
	var ways sync.WaitGroup
	for _, w := range []Way{Down, Up} {
		ways.Go(func() {
			if err := p.pump(w); err != nil {
				p.cut()
			}
		})
	}
	ways.Wait()
	for _, c := range p.ends {
		c.Close()
	}
}

// pump copies one direction until it ends. If it returns an error, the other direction ends too.
func (p *pair) pump(way Way) error {
	src, dst := p.ends[way], p.ends[1-way]
	buf := make([]byte, chunk)
	for {
		n, err := peek(src, buf)
		if err != nil || n == 0 {
			return p.half(way, dst, err)
		}
		if way == Up && p.tap != nil {
			if n = p.tap.before(&p.scanner, buf[:n]); n == 0 {
				n, _ = peek(src, buf) // the tap has called back, so the frame may pass
			}
		}
		pass, strike := p.admit(way, n)
		if pass > 0 {
			if _, err := io.ReadFull(src, buf[:pass]); err != nil {
				return err
			}
			if way == Up && p.tap != nil {
				p.scanner.advance(buf[:pass])
			}
			if err := p.forward(way, buf[:pass]); err != nil {
				return err
			}
		}
		if strike != nil {
			if err := p.carryOut(strike, way); err != nil {
				return err
			}
		}
		if p.holds(way) {
			<-p.released
			return nil
		}
	}
}

// half forwards a clean end.
func (p *pair) half(way Way, dst net.Conn, err error) error {
	if err != nil {
		return err
	}
	if p.holds(way) {
		<-p.released
		return nil
	}
	if c, ok := dst.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // if dst is closed, its own pump reports that
	}
	return nil
}

func (p *pair) holds(way Way) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stalled[way]
}

// admit returns how many of n bytes pass now, and the strike that follows them, if any.
func (p *pair) admit(way Way, n int) (int, *Strike) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.strike
	switch {
	case p.stalled[way]:
		return 0, nil
	case s == nil || s.Way != way || p.done:
		return n, nil
	case n <= s.After:
		s.After -= n
		return n, nil
	}
	p.done = true
	return s.After, s
}

// forward writes b as the state of the connection requires: dropped, byte by byte, throttled, or as it is.
func (p *pair) forward(way Way, b []byte) error {
	p.mu.Lock()
	drop, until := p.drop, p.slow[way].until
	single := min(p.slow[way].left, len(b))
	p.slow[way].left -= single
	flip := p.flips[way]
	if !drop && len(b) > 0 {
		p.flips[way] = nil
	}
	p.mu.Unlock()
	if drop {
		return nil
	}
	if flip != nil && len(b) > 0 {
		b[0] ^= 1
		flip.struck.Store(true)
	}
	for ; single > 0; single-- {
		if err := p.write(way, b[:1]); err != nil {
			return err
		}
		b = b[1:]
	}
	for len(b) > 0 && time.Now().Before(until) {
		const step = 10 * time.Millisecond
		n := min(len(b), throttleRate*int(step)/int(time.Second))
		if err := p.write(way, b[:n]); err != nil {
			return err
		}
		b = b[n:]
		time.Sleep(step)
	}
	if len(b) == 0 {
		return nil
	}
	return p.write(way, b)
}

// write forwards b. In the direction Up it follows the messages, and inserts a pending message when one ends.
func (p *pair) write(way Way, b []byte) error {
	if way == Down {
		_, err := p.ends[Up].Write(b)
		return err
	}
	p.upMu.Lock()
	defer p.upMu.Unlock()
	for len(b) > 0 {
		n := p.messages.take(b)
		if _, err := p.ends[Down].Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		if p.slipIn() {
			return nil
		}
	}
	return nil
}

// peek waits for bytes and copies them without reading them. It returns 0 at the end of the stream.
func peek(c net.Conn, buf []byte) (n int, err error) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	rerr := raw.Read(func(fd uintptr) bool {
		for {
			n, _, err = unix.Recvfrom(int(fd), buf, unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	return max(n, 0), errors.Join(rerr, err)
}
