package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/hashicorp/yamux"
)

// Trunk is the launcher's end of a connection to a relay. Any goroutine may use it.
type Trunk struct {
	streams *yamux.Session
	life    *life

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // attend, dials and ends of lanes; none is added once closed
}

// NewTrunk returns the trunk over conn, which it owns from now on.
func NewTrunk(conn io.ReadWriteCloser) (*Trunk, error) {
	life := newLife(conn)
	streams, err := yamux.Client(life, settings())
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open a trunk: %w", err)
	}
	t := &Trunk{streams: streams, life: life}
	t.running.Go(func() { attend(streams, life) })
	return t, nil
}

// ErrEnded says that a lane ended because its trunk did: nothing is known of the worker.
var ErrEnded = errors.New("the connection to the relay has ended")

// RefusedError is the answer of a relay that could not reach an address.
type RefusedError struct{ Address, Message string }

func (e *RefusedError) Error() string { return fmt.Sprintf("relay to %s: %s", e.Address, e.Message) }

// Dial has the relay connect to a TCP address, and returns the lane to it. ctx limits the dial, not
// the lane. The error is a *RefusedError if the relay itself works.
func (t *Trunk) Dial(ctx context.Context, address string) (net.Conn, error) {
	if len(address) > maxAddress {
		return nil, fmt.Errorf("address of %d bytes: at most %d", len(address), maxAddress)
	}
	type result struct {
		lane net.Conn
		err  error
	}
	dialed := make(chan result)
	t.mu.Lock()
	if t.closed {
		defer t.mu.Unlock()
		return nil, fmt.Errorf("open a lane to %s: %w", address, yamux.ErrSessionShutdown)
	}
	t.running.Go(func() { // yamux knows no contexts, and waits for a trunk that takes no bytes
		lane, err := t.dial(ctx, address)
		select {
		case dialed <- result{lane, err}:
		case <-ctx.Done():
			if err == nil {
				lane.Close()
			}
		}
	})
	t.mu.Unlock()
	select {
	case r := <-dialed:
		return r.lane, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("relay to %s: %w", address, ctx.Err())
	}
}

// dial is Dial, which may take longer than ctx.
func (t *Trunk) dial(ctx context.Context, address string) (net.Conn, error) {
	lane, err := t.streams.OpenStream()
	if err != nil {
		return nil, fmt.Errorf("open a lane to %s: %w", address, err)
	}
	if !t.life.begin(lane) {
		lane.Close()
		return nil, fmt.Errorf("relay to %s: %w", address, ErrEnded)
	}
	defer context.AfterFunc(ctx, func() { _ = lane.SetDeadline(past()) })()
	message, err := ask(lane, address)
	switch {
	case err == nil && message != "":
		err = &RefusedError{address, message}
	case err == nil:
		err = ctx.Err() // its deadline may have passed, which nobody has noticed yet
	case ctx.Err() != nil:
		err = fmt.Errorf("relay to %s: %w", address, ctx.Err())
	default:
		err = fmt.Errorf("relay to %s: %w", address, err)
	}
	if err != nil {
		t.life.leave(lane)
		lane.Close()
		return nil, err
	}
	return laneEnd{lane, t}, nil
}

// laneEnd is the launcher's end of a lane.
type laneEnd struct {
	*yamux.Stream
	trunk *Trunk
}

// Read implements net.Conn. A lane without bytes needs no buffer: of thousands of links, most are silent.
func (l laneEnd) Read(p []byte) (int, error) {
	n, err := l.Stream.Read(p)
	if n < len(p) {
		l.Shrink()
	}
	if err != nil && l.trunk.life.ended() {
		err = ErrEnded
	}
	return n, err
}

// Close implements net.Conn. It ends a Read, which yamux would let wait for the end that the relay
// sends: a relay that has fallen silent sends none. It does not wait until a trunk that takes no bytes
// has taken the end of the lane.
func (l laneEnd) Close() error {
	t := l.trunk
	t.life.leave(l.Stream)
	_ = l.SetDeadline(past()) // it never fails
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed { // otherwise all its lanes have ended
		t.running.Go(func() { _ = l.Stream.Close() }) // it fails only with the trunk
	}
	return nil
}

func ask(lane *yamux.Stream, address string) (message string, err error) {
	if err := writeText(lane, address); err != nil {
		return "", err
	}
	return readText(lane, maxMessage)
}

// Done returns a channel that is closed when the trunk has ended.
func (t *Trunk) Done() <-chan struct{} { return t.streams.CloseChan() }

// Close ends the trunk and its lanes.
func (t *Trunk) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.life.end()
	err := t.streams.Close()
	t.running.Wait()
	return err
}

// settings returns yamux's settings. A lane's window is its default, 256 KiB: a link has at most
// 1 MiB on its way.
func settings() *yamux.Config {
	c := yamux.DefaultConfig()
	c.AcceptBacklog = MaxLanes
	c.EnableKeepAlive = false // see attend
	c.ConnectionWriteTimeout = writeTime
	c.LogOutput = io.Discard // it logs errors that it also returns
	return c
}

// lost reports whether an error only says that the trunk or the lane has ended.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, yamux.ErrSessionShutdown) || errors.Is(err, net.ErrClosed)
}
