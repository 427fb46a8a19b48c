//go:build linux

package session

import (
	"fmt"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// handle carries out one frame. An error ends the connection, not the sessions.
func (s *Server) handle(c *conn, f wire.Frame) error {
	switch f.Type {
	case wire.Ping:
		c.push(wire.Frame{Type: wire.Pong})
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
		s.forget(rec.ID)
		return nil
	case wire.Park:
		var rec wire.ParkRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		s.mu.Lock()
		s.lease = leaseOf(rec.LeaseSeconds)
		s.mu.Unlock()
		s.kick()
		return nil
	case wire.End:
		var rec wire.EndRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		s.endJob(c, rec)
		return nil
	}
	return s.handleStream(c, f)
}

// handleStream carries out a frame of one session.
func (s *Server) handleStream(c *conn, f wire.Frame) error {
	s.mu.Lock()
	x := c.channels[f.Channel]
	if x != nil && x.conn.Load() != c {
		x = nil
	}
	s.mu.Unlock()
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
			s.control(x, rec)
		}
	default:
		err = fmt.Errorf("frame type %d from a launcher", f.Type)
	}
	if err != nil {
		return fmt.Errorf("%w: session %s: %w", wire.ErrProtocol, x.id, err)
	}
	return nil
}

// open creates the session, or attaches c to it.
func (s *Server) open(c *conn, channel uint32, rec wire.OpenRecord) error {
	if channel == 0 || rec.ID == "" {
		return fmt.Errorf("%w: open without channel or id", wire.ErrProtocol)
	}
	s.mu.Lock()
	x, answer, err := s.find(c, rec)
	if x == nil {
		s.mu.Unlock()
		c.record(wire.Opened, channel, answer)
		return err
	}
	x.conn.Store(c)
	x.channel, x.stdinAcked = channel, 0
	c.channels[channel] = x
	c.order = append(c.order[:len(c.order):len(c.order)], x)
	answer.Stdin, answer.Control = x.stdin.Received(), x.control
	if err = x.stdout.Resume(rec.Stdout); err == nil {
		err = x.stderr.Resume(rec.Stderr)
	}
	exit := x.exit
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: session %s: %w", wire.ErrProtocol, x.id, err)
	}
	if answer.Created {
		s.start(x, *rec.Spec)
		s.kick() // from now on the lease counts
	}
	if p := x.process(); p != nil {
		answer.PID = p.PID()
	}
	c.record(wire.Opened, channel, answer)
	if exit != nil {
		c.record(wire.Exit, channel, exit)
	}
	x.ackStdin()
	return nil
}

// find returns the session of rec, new or known; without one the answer says
// why. Called with s.mu held; the creator starts it.
func (s *Server) find(c *conn, rec wire.OpenRecord) (*session, wire.OpenedRecord, error) {
	if s.conn != c {
		return nil, wire.OpenedRecord{}, fmt.Errorf("another connection took the worker")
	}
	if x := s.sessions[rec.ID]; x != nil {
		if x.hash != rec.Hash {
			return nil, wire.OpenedRecord{Error: wire.OpenMismatch, Message: "session " + rec.ID + " runs another command"}, nil
		}
		return x, wire.OpenedRecord{}, nil
	}
	switch {
	case rec.Attach:
		return nil, wire.OpenedRecord{Error: wire.OpenUnknown, Message: "no session " + rec.ID + " here"}, nil
	case s.ending:
		return nil, wire.OpenedRecord{Error: wire.OpenEnding, Message: "the worker is going down"}, nil
	case rec.Spec == nil || rec.Spec.Hash() != rec.Hash:
		return nil, wire.OpenedRecord{}, fmt.Errorf("%w: open without a spec that fits its hash", wire.ErrProtocol)
	}
	x := s.newSession(rec)
	s.sessions[rec.ID] = x
	return x, wire.OpenedRecord{Created: true}, nil
}

// control carries out a signal or stop that was not carried out before.
func (s *Server) control(x *session, rec wire.ControlRecord) {
	s.mu.Lock()
	if rec.Seq <= x.control {
		s.mu.Unlock()
		return
	}
	x.control = rec.Seq
	if rec.Stop && x.reason == "" && x.exit == nil {
		x.reason = wire.ReasonStopped
	}
	s.mu.Unlock()
	if rec.Stop {
		s.stopSession(x, time.Duration(rec.GraceMillis)*time.Millisecond)
	} else if rec.Signal > 0 {
		x.signal(syscall.Signal(rec.Signal))
	}
}

// forget drops a session whose end the launcher has; one that still runs is
// stopped, one that is detached is kept without its streams.
func (s *Server) forget(id string) {
	s.mu.Lock()
	x := s.sessions[id]
	if x == nil {
		s.mu.Unlock()
		return
	}
	running := x.exit == nil
	if c := x.conn.Load(); c != nil {
		delete(c.channels, x.channel)
		order := make([]*session, 0, len(c.order))
		for _, o := range c.order {
			if o != x {
				order = append(order, o)
			}
		}
		c.order = order
	}
	x.conn.Store(nil)
	if !running && !x.detached {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	x.stdout.Discard()
	x.stderr.Discard()
	if running {
		s.stopSession(x, s.cfg.Grace)
	}
}
