package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"
)

// Trunk is the launcher's end of a connection to a relay. Any goroutine may use it.
type Trunk struct{ streams *yamux.Session }

// NewTrunk returns the trunk over conn, which it owns from now on.
func NewTrunk(conn io.ReadWriteCloser) (*Trunk, error) {
	streams, err := yamux.Client(conn, settings())
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open a trunk: %w", err)
	}
	return &Trunk{streams}, nil
}

// RefusedError is the answer of a relay that could not reach an address.
type RefusedError struct{ Address, Message string }

func (e *RefusedError) Error() string { return fmt.Sprintf("relay to %s: %s", e.Address, e.Message) }

// Dial has the relay connect to a TCP address, and returns the lane to it. ctx limits the dial, not
// the lane. The error is a *RefusedError if the relay itself works.
func (t *Trunk) Dial(ctx context.Context, address string) (net.Conn, error) {
	if len(address) > maxAddress {
		return nil, fmt.Errorf("address of %d bytes: at most %d", len(address), maxAddress)
	}
	lane, err := t.streams.OpenStream()
	if err != nil {
		return nil, fmt.Errorf("open a lane to %s: %w", address, err)
	}
	defer context.AfterFunc(ctx, func() { _ = lane.SetDeadline(time.Unix(1, 0)) })()
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
		lane.Close()
		return nil, err
	}
	return laneEnd{lane}, nil
}

// laneEnd is the launcher's end of a lane.
type laneEnd struct{ *yamux.Stream }

// Read implements net.Conn. A lane without bytes needs no buffer: of thousands of links, most are silent.
func (l laneEnd) Read(p []byte) (int, error) {
	n, err := l.Stream.Read(p)
	if n < len(p) {
		l.Shrink()
	}
	return n, err
}

// Close implements net.Conn. It ends a Read, which yamux would let wait for the end that the relay
// sends: a relay that has fallen silent sends none.
func (l laneEnd) Close() error {
	_ = l.SetDeadline(time.Unix(1, 0)) // it never fails
	return l.Stream.Close()
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
func (t *Trunk) Close() error { return t.streams.Close() }

// settings returns yamux's settings. A lane's window is its default, 256 KiB: a link has at most
// 1 MiB on its way.
func settings() *yamux.Config {
	c := yamux.DefaultConfig()
	c.AcceptBacklog = MaxLanes
	c.KeepAliveInterval = 5 * time.Second // like a link's PING
	c.ConnectionWriteTimeout = 10 * time.Second
	c.LogOutput = io.Discard // it logs errors that it also returns
	return c
}

// lost reports whether an error only says that the trunk or the lane has ended.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, yamux.ErrSessionShutdown) || errors.Is(err, net.ErrClosed)
}
