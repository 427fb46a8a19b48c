package remote

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/link"
)

// headStart limits the time that the first transport has for itself. If the dial ends soon, it has
// half of the time that is left. It must leave time for the other transport.
const headStart = 5 * time.Second

// race is one dial by up to two transports. The second one starts if something on the way may block
// the first one, or if the first one has no answer in time. The first stream that opens wins.
type race struct {
	d       *Dialer
	first   Transport
	proved  bool // the first transport has worked before
	opened  int  // how often, when this dial began
	results chan result
	cancel  []context.CancelFunc
	pending int
	failed  [2]error // by transport
}

// result is the result of one attempt.
type result struct {
	by      Transport
	conn    io.ReadWriteCloser
	reached bool
	err     error
}

func (d *Dialer) race(ctx context.Context) (io.ReadWriteCloser, error) {
	m := d.proto.recall()
	r := &race{d: d, first: m.first, proved: m.opened > 0, opened: m.opened, results: make(chan result, 2)}
	if own := d.own.Load(); own != nil && *own != m.first {
		r.first, r.proved = *own, true
	}
	defer r.end()
	r.start(ctx, r.first)
	late := time.NewTimer(leave(ctx))
	defer late.Stop()
	for r.pending > 0 {
		select {
		case <-late.C:
			if r.alone() && !r.slow() {
				r.start(ctx, r.first.other())
			}
		case got := <-r.results:
			r.pending--
			if got.err == nil {
				return r.won(got), nil
			}
			r.failed[got.by] = got.err
			if got.by == r.first && r.alone() && ctx.Err() == nil && r.mayPass(got) {
				r.start(ctx, r.first.other())
			}
		}
	}
	return nil, r.err()
}

// leave returns how long to wait until the other transport may start.
func leave(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return headStart
	}
	return min(headStart, time.Until(end)/2)
}

func (r *race) start(ctx context.Context, by Transport) {
	open := r.d.spdy
	if by == WebSocket {
		open = r.d.webSocket
	}
	ctx, cancel := context.WithCancel(ctx)
	r.cancel = append(r.cancel, cancel)
	r.pending++
	go func() {
		conn, reached, err := r.d.attempt(ctx, open)
		r.results <- result{by, conn, reached, err}
	}()
}

// end cuts an attempt that is still pending, and waits for it.
func (r *race) end() {
	for _, cancel := range r.cancel {
		cancel()
	}
	for ; r.pending > 0; r.pending-- {
		if late := <-r.results; late.conn != nil {
			_ = late.conn.Close()
		}
	}
}

// alone reports whether the other transport may start and has not.
func (r *race) alone() bool { return len(r.cancel) == 1 && !r.d.proto.only }

// slow reports whether another dial has opened a stream by the first transport meanwhile, so that
// nothing blocks it.
func (r *race) slow() bool {
	m := r.d.proto.recall()
	return m.first == r.first && m.opened != r.opened
}

// mayPass reports whether the other transport may work where the first one did not: something on the
// way refuses or blocks it, or the permission for it is missing. Such a blockade looks like an outage.
// If nothing accepted the connection, the transport does not matter.
func (r *race) mayPass(got result) bool {
	var refused *refusedError
	var gateway *gatewayError
	var failed *link.DialError
	switch {
	case errors.As(got.err, &refused), errors.As(got.err, &gateway):
		return true
	case !errors.As(got.err, &failed):
		return false
	case failed.Kind == link.Forbidden:
		return !r.proved
	}
	return failed.Kind == link.Unreachable && got.reached
}

// won remembers what the dial has shown, and returns its stream.
func (r *race) won(got result) io.ReadWriteCloser {
	o := outcome{tried: r.first, opened: got.by}
	why := r.failed[r.first]
	var refused *refusedError
	switch {
	case got.by == r.first:
		r.d.proto.note(o, nil)
		return got.conn
	case !errors.As(why, &refused):
		if why == nil {
			why = &link.DialError{Kind: link.Unreachable, Err: errSilent}
		}
		return &unproved{ReadWriteCloser: got.conn, prove: func() { r.d.prefer(o, why) }}
	case refused.lasting:
		o.refused = true
		r.d.prefer(o, why)
	}
	return got.conn
}

var errSilent = errors.New("no answer to the upgrade in time")

// prefer records that only the transport that was tried second has opened a stream. Later dials to
// this worker begin with it. Those to other workers do so if the memory says so.
func (d *Dialer) prefer(o outcome, why error) {
	d.own.Store(&o.opened)
	d.proto.note(o, why)
}

// err returns the error of a dial of which no attempt succeeded.
func (r *race) err() error {
	first, second := r.failed[r.first], r.failed[r.first.other()]
	var refused, again *refusedError
	switch {
	case second == nil:
		if errors.As(first, &refused) {
			return &link.DialError{Kind: link.Server, Err: first}
		}
		return first
	case isForbidden(first) && isForbidden(second):
		// Since 1.35 both need the right to create, and the refusal of a WebSocket does not name it.
		return r.failed[SPDY]
	case !errors.As(second, &again):
		return second
	case errors.As(first, &refused):
		return r.d.target.refusedTwice(refused, again)
	}
	return first
}

func isForbidden(err error) bool {
	var failed *link.DialError
	return errors.As(err, &failed) && failed.Kind == link.Forbidden
}

// unproved is a stream that proves that its transport gets through when its first byte arrives. An
// API server accepts a WebSocket before it has reached the worker.
type unproved struct {
	io.ReadWriteCloser
	once  sync.Once
	prove func()
}

// Read implements io.Reader.
func (c *unproved) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if n > 0 {
		c.once.Do(c.prove)
	}
	return n, err
}
