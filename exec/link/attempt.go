package link

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

var errParked = errors.New("link parked")

// attempt dials once, shakes hands, and serves the connection until it ends. It always returns an
// error with the reason. It calls linked once the worker has sent WELCOME.
func (l *Link) attempt(ctx context.Context, linked func()) error {
	c, w, err := l.reach(ctx)
	if err != nil {
		return err
	}
	if err := l.adopt(c, w); err != nil {
		c.close(err)
		return err
	}
	linked()
	l.report()
	err = c.serve(ctx)
	l.drop(err)
	return err
}

// reach waits for its turn, passes the gate and dials. If the worker is given up meanwhile, reach does not wait for the
// deadline of the dial.
func (l *Link) reach(ctx context.Context) (*conn, wire.WelcomeRecord, error) {
	leave, err := l.cfg.Turns.take(ctx, l.fate.over) // before goroutines start, because thousands of links may wait here
	if err != nil {
		return nil, wire.WelcomeRecord{}, err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.fate.over:
			cancel(errLost)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	var pass Pass
	if l.cfg.Gate != nil {
		var err error
		if pass, err = l.cfg.Gate.Enter(ctx, l.State().Linked); err != nil {
			return nil, wire.WelcomeRecord{}, err
		}
	}
	l.noteAsked()
	c, w, err := l.dialApart(ctx)
	if err != nil && ctx.Err() != nil {
		pass.Withdraw() // canceled: says nothing about the server
		return c, w, err
	}
	pass.Done(kindOf(err) != Unreachable)
	if err != nil {
		l.noteFailure(err)
	}
	return c, w, err
}

// dialApart dials in a goroutine of its own, so that its stack is freed: a TLS handshake grows the
// stack to several times the size that the link needs afterwards.
func (l *Link) dialApart(ctx context.Context) (c *conn, w wire.WelcomeRecord, err error) {
	var dialled sync.WaitGroup
	dialled.Go(func() { c, w, err = l.dial(ctx) })
	dialled.Wait()
	return c, w, err
}

// dial makes a connection and reads the worker's answer to HELLO. DialTimeout limits all of it,
// because a dial to a stopped API server hangs forever.
func (l *Link) dial(ctx context.Context) (*conn, wire.WelcomeRecord, error) {
	var w wire.WelcomeRecord
	dctx, cancel := context.WithTimeoutCause(ctx, l.cfg.DialTimeout, &DialError{Kind: Server,
		Err: fmt.Errorf("no answer from the agent of the worker within %s", l.cfg.DialTimeout)})
	defer cancel()
	rw, err := l.cfg.Dialer.Dial(dctx)
	if err != nil {
		return nil, w, err
	}
	c := newConn(l, rw)
	stop := context.AfterFunc(dctx, func() { rw.Close() })
	w, err = c.shake(l.cfg.Hello)
	if !stop() || err != nil {
		rw.Close()
		var de *DialError
		if cause := context.Cause(dctx); cause != nil && !errors.As(err, &de) {
			err = cause
		}
		return nil, w, err
	}
	return c, w, nil
}

// shake sends HELLO and reads WELCOME or REFUSE.
func (c *conn) shake(hello wire.HelloRecord) (w wire.WelcomeRecord, err error) {
	f, err := wire.Record(wire.Hello, 0, hello)
	if err != nil {
		return w, err
	}
	b, err := wire.Append(nil, f)
	if err != nil {
		return w, err
	}
	if _, err := c.rw.Write(b); err != nil {
		// The reading side has the cause: the server's answer.
		if _, rerr := c.reader.Next(); kindOf(rerr) != Dropped {
			err = rerr
		}
		return w, err
	}
	f, err = c.reader.Next()
	if err != nil {
		return w, err
	}
	switch f.Type {
	case wire.Welcome:
		if err := f.Decode(&w); err != nil {
			return w, err
		}
		if w.Proto < wire.ProtoMin || w.Proto > wire.ProtoMax {
			return w, &DialError{Kind: Incompatible, Err: fmt.Errorf(
				"the worker's agent %s chose protocol %d, the launcher's %s speaks %d to %d", w.Version, w.Proto, hello.Version, wire.ProtoMin, wire.ProtoMax)}
		}
		c.proto = w.Proto
		return w, nil
	case wire.Refuse:
		var r wire.RefuseRecord
		if err := f.Decode(&r); err != nil {
			return w, err
		}
		return w, refused(r)
	}
	return w, fmt.Errorf("%w: first frame has type %d", wire.ErrProtocol, f.Type)
}

func refused(r wire.RefuseRecord) error {
	kinds := map[string]Kind{wire.RefuseVersion: Incompatible, wire.RefuseSuperseded: Superseded,
		wire.RefuseJob: OtherJob, wire.RefuseEnding: Ending, wire.RefusePeer: Barred}
	kind, ok := kinds[r.Reason]
	if !ok {
		kind = Incompatible
	}
	return &DialError{Kind: kind, Err: errors.New(r.Message)}
}

// adopt makes c the link's connection and attaches every session over it. It returns an error if
// the worker was given up, or if its instance has changed.
func (l *Link) adopt(c *conn, w wire.WelcomeRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fate.lost != nil {
		return errLost
	}
	if l.heard.welcome != nil && l.heard.welcome.Instance != w.Instance {
		return &DialError{Kind: Gone, Err: errors.New("the container was restarted: its processes have ended")}
	}
	l.cfg.Log.Info("link up", "worker", l.cfg.Worker, "agent", w.Version, "proto", w.Proto)
	l.heard.welcome = &w
	now := time.Now()
	if l.standing.phase != renewing {
		l.work.active = now
	}
	l.standing.transition(up, now)
	l.refusals = refusals{}
	l.current.set(c)
	known := map[string]bool{}
	for ch, s := range l.work.sessions {
		known[s.id] = true
		s.openOn(c, ch)
	}
	for _, id := range w.Sessions {
		if !known[id] {
			c.record(wire.Forget, 0, wire.ForgetRecord{ID: id})
		}
	}
	if l.farewell.record != nil {
		c.record(wire.End, 0, *l.farewell.record)
	}
	return nil
}

// drop records the end of a connection.
func (l *Link) drop(err error) {
	to := down
	if errors.Is(err, errParked) {
		to = parked
	}
	l.mu.Lock()
	if c := l.current.get(); to == down {
		l.standing.asked = c.owes()
	}
	l.current.clear()
	for _, s := range l.work.sessions {
		s.conn = nil
	}
	l.standing.transition(to, time.Now())
	l.standing.last = err
	if to == parked {
		l.settle()
	}
	l.mu.Unlock()
	if to == down {
		l.cfg.Log.Info("link down", "worker", l.cfg.Worker, "err", err)
	}
	l.report()
}

// noteAsked records that a dial has begun, which waits for no turn any more: from now on, the worker owes
// an answer.
func (l *Link) noteAsked() {
	l.mu.Lock()
	st := &l.standing
	first := st.asked.IsZero()
	if first {
		st.asked = time.Now()
	}
	tell := first && st.phase == down
	l.mu.Unlock()
	if tell {
		l.report()
	}
}

// noteFailure records a failed dial.
func (l *Link) noteFailure(err error) {
	l.mu.Lock()
	if l.standing.parked() { // closed on purpose until now, but lost from here on
		l.standing.transition(down, time.Now())
	}
	l.standing.last = err
	l.refusals.note(kindOf(err))
	l.mu.Unlock()
	l.cfg.Log.Debug("dial failed", "worker", l.cfg.Worker, "kind", kindOf(err), "err", err)
	l.report()
}

// kindOf returns the Kind of err. An error other than a DialError means that a connection ended.
func kindOf(err error) Kind {
	var de *DialError
	if errors.As(err, &de) {
		return de.Kind
	}
	return Dropped
}
