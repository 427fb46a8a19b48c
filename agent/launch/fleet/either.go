//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/network"
)

const (
	// networkTime is how long one dial by network may take. Two of them that time out, and a dial by
	// exec, are shorter than --node-lost-after.
	networkTime = 3 * time.Second
	// networkTries is how many dials by network may time out in a row before exec is tried.
	networkTries = 2
	// startTime is how long a worker that was never reached may refuse connections: its container
	// runs, and its agent may be about to listen.
	startTime = 2 * time.Second
)

// either dials a worker by network, or by exec if that fails. Once a connection by exec has brought
// an answer, it dials by exec only. One goroutine dials, that of the link.
type either struct {
	network, exec link.Dialer
	gate          *link.Gate      // of exec; nil: none
	fell          func(why error) // called when a connection by exec has brought an answer for the first time

	came   bool        // a connection by network was made
	silent int         // dials by network in a row that brought no verdict
	byExec atomic.Bool // a connection by exec has brought an answer
}

// Dial implements link.Dialer.
func (e *either) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if e.byExec.Load() {
		return e.dialExec(ctx)
	}
	c, err := e.dialNetwork(ctx)
	if err == nil {
		e.came, e.silent = true, 0
		return c, nil
	}
	if !network.Refused(err) {
		e.silent++
	}
	if ctx.Err() != nil || !network.Refused(err) && e.silent < networkTries {
		return nil, err
	}
	c, xerr := e.dialExec(ctx)
	if xerr != nil {
		return nil, also(xerr, err)
	}
	return &answering{ReadWriteCloser: c, e: e, why: err}, nil
}

// dialNetwork dials by network. It dials a worker that was never reached again while its machine
// refuses the connection.
func (e *either) dialNetwork(ctx context.Context) (io.ReadWriteCloser, error) {
	const pause = 50 * time.Millisecond
	began := time.Now()
	for {
		try, cancel := context.WithTimeoutCause(ctx, networkTime, fmt.Errorf("no answer within %s", networkTime))
		c, err := e.network.Dial(try)
		cancel()
		starting := !e.came && errors.Is(err, syscall.ECONNREFUSED) && time.Since(began) < startTime
		if !starting || !wait.Sleep(ctx, pause) {
			return c, err
		}
	}
}

// dialExec dials by exec, through the gate of its API server.
func (e *either) dialExec(ctx context.Context) (io.ReadWriteCloser, error) {
	var pass link.Pass
	if e.gate != nil {
		var err error
		if pass, err = e.gate.Enter(ctx, e.came || e.byExec.Load()); err != nil {
			return nil, &link.DialError{Kind: link.Unreachable, Err: err}
		}
	}
	c, err := e.exec.Dial(ctx)
	if err != nil && ctx.Err() != nil {
		pass.Withdraw()
		return nil, err
	}
	pass.Done(err == nil || KindOf(err) != link.Unreachable)
	return c, err
}

// also returns the error of exec with that of the network. Its kind is that of exec, which knows
// whether the pod still exists.
func also(exec, network error) error {
	return &link.DialError{Kind: KindOf(exec), Err: fmt.Errorf("%w (by network: %w)", exec, network)}
}

// answering is a stream by exec, which may open although no worker runs in the container.
type answering struct {
	io.ReadWriteCloser
	e   *either
	why error // of the network
}

// Read implements io.Reader.
func (a *answering) Read(p []byte) (int, error) {
	n, err := a.ReadWriteCloser.Read(p)
	if n > 0 && a.e.byExec.CompareAndSwap(false, true) {
		a.e.fell(a.why)
	}
	if n == 0 && err != nil && !a.e.byExec.Load() {
		err = also(err, a.why)
	}
	return n, err
}
