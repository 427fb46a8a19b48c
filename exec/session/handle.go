//go:build linux

package session

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/musterhq/muster/exec/wire"
)

var errStale = errors.New("another connection replaced this one")

// handle handles one frame. An error ends the connection, not the sessions.
func (s *Server) handle(c *conn, f wire.Frame) error {
	switch f.Type {
	case wire.Ping:
		pong := wire.Frame{Type: wire.Pong}
		if c.proto >= wire.ProtoEcho {
			pong.Offset = f.Offset
		}
		c.push(pong)
		s.trim() // the link is idle, so this is a good time
		return nil
	case wire.Open:
		var rec wire.OpenRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		return s.open(c, f.Channel, rec)
	case wire.Forget:
		var rec wire.ForgetRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		return s.forget(c, rec.ID)
	case wire.Park:
		var rec wire.ParkRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		return s.park(c, rec)
	case wire.End:
		var rec wire.EndRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		return s.endJob(c, rec)
	case wire.Ask:
		var rec wire.AskRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		s.ask(c, rec)
		return nil
	case wire.Data, wire.EOF, wire.Ack, wire.Close, wire.Control:
		return s.handleStream(c, f)
	}
	return fmt.Errorf("%w: frame type %d from a launcher", wire.ErrProtocol, f.Type)
}

// ask answers a question, or asks ranks to end.
func (s *Server) ask(c *conn, rec wire.AskRecord) {
	switch {
	case !s.isCurrent(c):
	case rec.Stacks:
		s.observer.askStacks(c, rec)
	case rec.End != nil:
		s.stops.endRanks(c, rec.Seq, *rec.End)
	case rec.Facts != nil:
		s.surveyor.facts(c, rec.Seq, *rec.Facts)
	case rec.Listen != nil:
		s.surveyor.listen(c, rec.Seq, *rec.Listen)
	case rec.Dial != nil:
		s.surveyor.dial(c, rec.Seq, *rec.Dial)
	case rec.Newest != "":
		s.observer.askNewest(c, rec)
	default:
		s.observer.ask(c, rec)
	}
}

// trim lets idle streams free their buffers.
func (s *Server) trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		x.stdin.Trim()
	}
}

// park changes the lease before the launcher closes the link.
func (s *Server) park(c *conn, rec wire.ParkRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return errStale
	}
	s.lease = leaseOf(rec.LeaseSeconds)
	s.kick()
	return nil
}

// handleStream handles a frame of one session.
func (s *Server) handleStream(c *conn, f wire.Frame) error {
	s.mu.Lock()
	x := c.channels[f.Channel]
	if x != nil && x.conn.Load() != c {
		x = nil
	}
	s.mu.Unlock()
	input := f.Type == wire.Data || f.Type == wire.EOF
	if f.Type != wire.Control && input != (f.Stream == wire.Stdin) {
		return fmt.Errorf("%w: frame type %d for stream %d", wire.ErrProtocol, f.Type, f.Stream)
	}
	if x == nil {
		return nil // forgotten meanwhile
	}
	out := x.stdout
	if f.Stream == wire.Stderr {
		out = x.stderr
	}
	var err error
	switch f.Type {
	case wire.Data:
		err = x.stdin.Put(f.Offset, f.Payload)
	case wire.EOF:
		err = x.stdin.End(f.Offset)
	case wire.Ack:
		err = out.Ack(f.Offset)
	case wire.Close:
		out.Discard()
	case wire.Control:
		var rec wire.ControlRecord
		if err = f.Decode(&rec); err == nil {
			err = s.control(x, rec)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: session %s: %w", wire.ErrProtocol, x.id, err)
	}
	return nil
}

// open creates the session, or attaches c to it. It does not wait for the start: a program on a
// hanging file system must not silence the link.
func (s *Server) open(c *conn, channel uint32, rec wire.OpenRecord) error {
	if channel == 0 || !validID(rec.ID) {
		return fmt.Errorf("%w: open without a channel or a plain id", wire.ErrProtocol)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x, answer, err := s.find(c, rec)
	if x == nil {
		c.record(wire.Opened, channel, answer)
		return err
	}
	if x.conn.Load() == c {
		c.removeLocked(x) // the launcher opens it again, perhaps on another channel
	}
	x.conn.Store(c)
	x.channel, x.stdinAcked = channel, 0
	c.channels[channel] = x
	c.order = append(c.order[:len(c.order):len(c.order)], x)
	answer.Stdin, answer.Control = x.stdin.Received(), x.control
	if err = x.stdout.Resume(rec.Stdout); err == nil {
		err = x.stderr.Resume(rec.Stderr)
	}
	if err != nil {
		return fmt.Errorf("%w: session %s: %w", wire.ErrProtocol, x.id, err)
	}
	// Under the lock, so that the end of a session that ends at once comes after this. Nobody waits for this answer
	// if a remote shell starts a daemon of an MPI. With argv, a launcher may wait before it opens more sessions,
	// and stdin comes only after the answer.
	push := c.push
	if answer.Created && x.line && !rec.Spec.Stdin {
		push = c.pushPatiently
	}
	c.encode(wire.Opened, channel, answer, push)
	if x.exit != nil {
		c.record(wire.Exit, channel, x.exit)
	}
	if answer.Created {
		s.lookUp(func() { s.begin(x, *rec.Spec) })
		s.wg.Go(x.obey)
		s.kick() // the lease counts from now on
	}
	x.ackStdin()
	return nil
}

const longestID = 128

// validID reports whether an id can be used in an environment variable and in a message.
func validID(id string) bool {
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return id != "" && len(id) <= longestID
}

// find returns the session of rec, new or known. If there is none, the answer says why. The caller
// holds s.mu, and starts a new session.
func (s *Server) find(c *conn, rec wire.OpenRecord) (*session, wire.OpenedRecord, error) {
	if s.conn != c {
		return nil, wire.OpenedRecord{}, errStale
	}
	if why, ok := s.ruined[rec.ID]; ok {
		return nil, wire.OpenedRecord{Error: wire.OpenUnknown, Message: why}, nil
	}
	if x := s.sessions[rec.ID]; x != nil {
		if x.forgotten {
			return nil, wire.OpenedRecord{Error: wire.OpenUnknown, Message: "session " + rec.ID + " has ended here"}, nil
		}
		if x.hash != rec.Hash {
			return nil, wire.OpenedRecord{Error: wire.OpenMismatch, Message: "session " + rec.ID + " already runs another command"}, nil
		}
		return x, wire.OpenedRecord{}, nil
	}
	switch {
	case rec.Attach:
		return nil, wire.OpenedRecord{Error: wire.OpenUnknown, Message: "unknown session " + rec.ID}, nil
	case s.ending:
		return nil, wire.OpenedRecord{Error: wire.OpenEnding, Message: "the worker is stopping"}, nil
	case rec.Spec == nil || rec.Spec.Hash() != rec.Hash:
		return nil, wire.OpenedRecord{}, fmt.Errorf("%w: open without a spec that fits its hash", wire.ErrProtocol)
	}
	x := s.newSession(rec)
	x.line, x.inGroup = rec.Spec.Line != "", rec.Spec.EndsOnFailure
	s.sessions[rec.ID] = x
	return x, wire.OpenedRecord{Created: true}, nil
}

// mostOrders limits the controls that wait for the start of a process, which may hang.
const mostOrders = 1 << 12

// control passes a new signal or stop to the session. obey carries it out in order, once the
// process has started.
func (s *Server) control(x *session, rec wire.ControlRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec.Seq <= x.control {
		return nil
	}
	if len(x.orders) >= mostOrders {
		return errors.New("too many controls wait for its start")
	}
	x.control = rec.Seq
	if rec.Stop && x.reason == "" && x.lasts() && !x.over() {
		x.reason = wire.ReasonStopped
	}
	x.orders = append(x.orders, rec)
	select {
	case x.ordered <- struct{}{}:
	default:
	}
	return nil
}

// obey carries out the session's controls until it is dropped.
func (x *session) obey() {
	select {
	case <-x.started:
	case <-x.dropped:
		return
	}
	for {
		x.srv.mu.Lock()
		orders := x.orders
		x.orders = nil
		x.srv.mu.Unlock()
		for _, rec := range orders {
			if rec.Stop {
				x.srv.stops.session(x, graceOf(rec.GraceMillis))
			} else if rec.Signal > 0 {
				x.signal(syscall.Signal(rec.Signal))
			}
		}
		select {
		case <-x.ordered:
		case <-x.dropped:
			return
		}
	}
}

// forget drops a session whose end the launcher has. A running session is stopped. A detached
// session is kept without its streams.
func (s *Server) forget(c *conn, id string) error {
	s.mu.Lock()
	if s.conn != c {
		s.mu.Unlock()
		return errStale
	}
	x := s.sessions[id]
	if x == nil {
		s.mu.Unlock()
		return nil
	}
	lasts, grace := x.lasts(), s.graceLocked()
	c.removeLocked(x)
	x.conn.Store(nil)
	x.forgotten = true
	x.discardLocked()
	s.dropLocked(x)
	s.mu.Unlock()
	if lasts {
		s.stops.session(x, grace)
	}
	return nil
}

// ruin ends a session whose output cannot be read from its spill file. The launcher, which redials,
// then gets an error instead of waiting forever.
func (s *Server) ruin(x *session, err error) {
	s.cfg.Log.Error("cannot read spilled output: stopping the session", "session", x.id, "err", err)
	s.mu.Lock()
	s.ruined[x.id] = fmt.Sprintf("output of session %s is lost: %v", x.id, err)
	x.conn.Store(nil)
	x.forgotten = true
	x.discardLocked()
	s.dropLocked(x)
	grace := s.graceLocked()
	s.mu.Unlock()
	s.stops.session(x, grace)
}

// dropLocked drops a session once the launcher has forgotten it and none of its processes lives.
// The caller holds s.mu.
func (s *Server) dropLocked(x *session) {
	if x.forgotten && !x.lives() && s.sessions[x.id] == x {
		delete(s.sessions, x.id)
		s.observer.remove(x)
		close(x.dropped)
	}
}
