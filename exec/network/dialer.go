package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/relay"
	"github.com/musterhq/muster/exec/secure"
)

// errImpostor reports that another process answers than at an earlier dial.
var errImpostor = errors.New("another process answers in place of the worker that was linked")

// Dialer opens connections to one worker. It may be used by any number of goroutines.
type Dialer struct {
	Launcher *secure.Launcher
	Worker   string // name of the pod
	UID      string // uid of the pod
	// Address returns the worker's host:port, or an error while it has none.
	Address func() (string, error)
	// Connect opens the stream to the address. nil: by TCP. A relay can put another stream there,
	// because both ends of the stream seal and prove what passes through it.
	Connect func(ctx context.Context, address string) (net.Conn, error)

	mu   sync.Mutex
	peer []byte // key of the process that answered first; nil: none has
}

// Dial connects, and proves who both sides are. Every error is a *link.DialError of kind
// link.Server, because one worker that does not answer says nothing about others. See [Refused].
func (d *Dialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c, err := d.dial(ctx)
	if err != nil {
		return nil, &link.DialError{Kind: link.Server, Err: err}
	}
	return c, nil
}

func (d *Dialer) dial(ctx context.Context) (*secure.Conn, error) {
	address, err := d.Address()
	if err != nil {
		return nil, err
	}
	connect := d.Connect
	if connect == nil {
		connect = byTCP
	}
	nc, err := connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to worker: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	c, answer, err := d.Launcher.Prove(nc, d.Worker, d.UID)
	if err == nil {
		err = d.pin(c, answer)
	}
	if errors.Is(err, relay.ErrEnded) { // which looks like a refusal
		err = relay.ErrEnded
	}
	if !stop() { // its deadline is ours, and says less
		err = context.Cause(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to worker at %s: %w", address, err)
	}
	return c, nil
}

func byTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// pin remembers the first process that answers, and refuses any other.
func (d *Dialer) pin(c *secure.Conn, a secure.Answer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.peer == nil {
		d.peer = c.Peer()
	}
	if !bytes.Equal(d.peer, c.Peer()) {
		return fmt.Errorf("%w (instance %s)", errImpostor, a.Instance)
	}
	return nil
}

// Refused reports whether an error of Dial is a verdict of the worker's machine: nothing listens
// there, or it did not accept the proof. Dialing again soon cannot help then. Otherwise the address
// may be unreachable only for a while.
func Refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || Unproved(err)
}

// Unproved reports whether the connection was made, and one side did not accept the other.
func Unproved(err error) bool {
	return errors.Is(err, secure.ErrRefused) || errors.Is(err, secure.ErrClaim) || errors.Is(err, errImpostor)
}
