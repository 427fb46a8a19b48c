package link

import (
	"errors"
	"fmt"

	"github.com/musterhq/muster/exec/wire"
)

// handle handles one frame of the worker. An error ends the connection.
func (l *Link) handle(c *conn, f wire.Frame) error {
	switch f.Type {
	case wire.Pong:
		return c.onPong(f.Offset)
	case wire.Report:
		var rec wire.ReportRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		l.takeReport(rec)
		return nil
	case wire.Answer:
		var rec wire.AnswerRecord
		if err := f.Decode(&rec); err != nil {
			return err
		}
		c.answered(rec)
		return nil
	case wire.Ended:
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.farewell.confirm() {
			return nil
		}
		return errors.New("the worker has ended")
	}
	l.mu.Lock()
	s := l.work.sessions[f.Channel]
	l.mu.Unlock()
	if s == nil {
		return nil // retired meanwhile
	}
	output := f.Type == wire.Data || f.Type == wire.EOF
	if output || f.Type == wire.Ack {
		if output == (f.Stream == wire.Stdin) {
			return fmt.Errorf("%w: frame type %d for stream %d", wire.ErrProtocol, f.Type, f.Stream)
		}
	}
	in := s.stdout
	if f.Stream == wire.Stderr {
		in = s.stderr
	}
	var err error
	switch f.Type {
	case wire.Opened:
		var rec wire.OpenedRecord
		if err = f.Decode(&rec); err == nil {
			err = s.opened(c, rec)
			s.tellTaken()
		}
	case wire.Data:
		if err = in.Put(f.Offset, f.Payload); err == nil {
			s.pump(f.Stream)
		}
	case wire.EOF:
		err = in.End(f.Offset)
	case wire.Ack:
		err = s.stdin.Ack(f.Offset)
	case wire.Exit:
		var rec wire.ExitRecord
		if err = f.Decode(&rec); err == nil {
			s.ended(rec)
		}
	default:
		err = fmt.Errorf("frame type %d from a worker", f.Type)
	}
	if err != nil {
		return fmt.Errorf("%w: session %s: %w", wire.ErrProtocol, s.id, err)
	}
	return nil
}

// takeReport passes on a new report. A worker sends old reports again on each new connection.
func (l *Link) takeReport(rec wire.ReportRecord) {
	l.mu.Lock()
	known := rec.Seq <= l.heard.report
	l.heard.report = max(l.heard.report, rec.Seq)
	l.mu.Unlock()
	if !known && l.cfg.OnReport != nil {
		l.cfg.OnReport(rec)
	}
}

// opened continues the session from the offsets and the control number of the worker.
func (s *Session) opened(c *conn, rec wire.OpenedRecord) error {
	if rec.Error != "" {
		kind := map[string]Kind{wire.OpenUnknown: Unknown, wire.OpenEnding: Ending}[rec.Error]
		s.fail(&LostError{Worker: s.link.cfg.Worker, Kind: kind, Err: errors.New(rec.Message)})
		return nil
	}
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if err := s.stdin.Resume(rec.Stdin); err != nil {
		return err
	}
	s.conn, s.confirmed = c, true
	left := s.controls[:0]
	for _, r := range s.controls {
		if r.Seq > rec.Control {
			left = append(left, r)
			c.record(wire.Control, s.channel, r)
		}
	}
	s.controls = left
	for stream, unread := range s.unread {
		if unread {
			c.push(wire.Frame{Type: wire.Close, Stream: uint8(stream), Channel: s.channel})
		}
	}
	c.lookForAcks()
	return nil
}

// ended records the exit record. The session is over when all its output has been written.
func (s *Session) ended(rec wire.ExitRecord) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.exit == nil && s.err == nil {
		s.exit, s.confirmed = &rec, true
		s.link.running.Go(s.finish)
	}
}
