package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// Streams are the caller's ends of a session. Stdin may be nil. The session closes Stdin when it
// ends, which must unblock a Read. Stdout and Stderr are written by one goroutine each. If one is
// nil, its output is discarded.
type Streams struct {
	Stdin          io.ReadCloser
	Stdout, Stderr io.Writer
}

// Session is one remote command on the worker, with its streams.
type Session struct {
	link    *Link
	id      string
	channel uint32
	spec    wire.Spec
	hash    string
	streams Streams
	stdin   *flow.Out
	stdout  *flow.In
	stderr  *flow.In
	writing [3]sync.Mutex  // held by the goroutine that writes the stream, by stream
	reader  sync.WaitGroup // the goroutine that reads Stdin, if there is one
	done    chan struct{}  // closed when Wait may return

	// The fields below are guarded by link.mu.
	conn      *conn // the connection on which the worker has confirmed it
	confirmed bool  // the worker has said that it has the session
	controls  []wire.ControlRecord
	seq       uint64
	acked     [3]uint64 // last acknowledgement sent on conn, by stream
	unread    [3]bool   // nobody reads the stream any longer
	exit      *wire.ExitRecord
	err       error
	over      bool   // done is closed
	then      func() // see Then
	taken     func() // see Confirmed
}

// Open starts a session, or attaches to the one with that id. An empty id makes a new session. Open
// returns at once, even while the link is down. Later errors come from Wait. The error is a
// *LostError if the worker is already lost, the error of ctx, or says that the spec is too long for
// a frame.
func (l *Link) Open(ctx context.Context, id string, spec wire.Spec, st Streams) (*Session, error) {
	if id == "" {
		id = wire.NewID()
	}
	spec.Stdin, spec.InOrder = st.Stdin != nil, spec.GatherMillis > 0
	s := &Session{link: l, id: id, spec: spec, hash: spec.Hash(), streams: st, done: make(chan struct{})}
	l.mu.Lock()
	first, greeted := l.specFor(s), l.heard.welcome != nil
	l.mu.Unlock()
	// A record that is too long for a frame would end this connection and each one after it.
	open, err := wire.Record(wire.Open, 0, wire.OpenRecord{ID: id, Hash: s.hash, Spec: first})
	if err != nil {
		return nil, fmt.Errorf("open session: its command and environment are too long: %w", err)
	}
	s.stdin = flow.NewOut(wire.StreamWindow, flow.Limits{Floor: wire.StreamWindow, Stream: wire.StreamWindow}, s.kick)
	s.stdout = flow.NewIn(wire.StreamWindow, s.ackDue)
	s.stderr = flow.NewIn(wire.StreamWindow, s.ackDue)
	if spec.InOrder {
		flow.Order(s.stdout, s.stderr)
	}
	l.mu.Lock()
	if l.fate.lost != nil {
		defer l.mu.Unlock()
		return nil, l.fate.lost
	}
	if err := ctx.Err(); err != nil {
		defer l.mu.Unlock()
		return nil, err
	}
	l.work.add(s)
	switch c := l.current.get(); {
	case c != nil && greeted:
		open.Channel = s.channel
		c.push(open)
	case c != nil:
		s.openOn(c, s.channel)
	}
	if st.Stdin != nil {
		s.reader.Go(s.read)
	}
	l.mu.Unlock()
	l.rouse()
	return s, nil
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Signal sends a signal to the session's first process and its group, once.
func (s *Session) Signal(sig int) { s.control(wire.ControlRecord{Signal: sig}) }

// Stop ends every process of the session: TERM, and KILL after grace.
func (s *Session) Stop(grace time.Duration) {
	s.control(wire.ControlRecord{Stop: true, GraceMillis: grace.Milliseconds()})
}

func (s *Session) control(rec wire.ControlRecord) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.seq++
	rec.Seq = s.seq
	s.controls = append(s.controls, rec)
	if s.conn != nil {
		s.conn.record(wire.Control, s.channel, rec)
	}
}

// specFor returns the session's spec in a form that its worker accepts. The caller holds l.mu.
func (l *Link) specFor(s *Session) *wire.Spec {
	spec := s.spec
	if l.heard.welcome == nil || !l.heard.welcome.Unpacks {
		spec = spec.Unpacked()
	}
	return &spec
}

// openOn sends OPEN for the session on a connection. The caller holds link.mu.
func (s *Session) openOn(c *conn, channel uint32) {
	rec := wire.OpenRecord{ID: s.id, Hash: s.hash, Attach: s.confirmed,
		Stdout: s.stdout.Received(), Stderr: s.stderr.Received()}
	if !s.confirmed {
		rec.Spec = s.link.specFor(s)
	}
	s.acked = [3]uint64{}
	c.record(wire.Open, channel, rec)
}

// finish ends a session whose exit or err is set: it waits until its output is written. Until then a
// session has a goroutine only while it writes output or reads Stdin.
func (s *Session) finish() {
	s.stdin.Discard()
	if s.streams.Stdin != nil {
		s.streams.Stdin.Close()
	}
	var writers sync.WaitGroup
	for _, stream := range []uint8{wire.Stdout, wire.Stderr} {
		in, w := s.output(stream)
		write := func() {
			s.writing[stream].Lock()
			defer s.writing[stream].Unlock()
			s.wrote(stream, in.Run(w))
		}
		if in.Finished() {
			write() // does not wait, and of thousands that end at once, most have nothing to write
			continue
		}
		writers.Go(write)
	}
	writers.Wait()
	s.reader.Wait()
	s.link.mu.Lock()
	if s.err == nil && !s.complete() {
		// The streams have ended, but the record counts other bytes.
		s.err = errors.New("output is missing: the exit record of the worker counts other bytes")
	}
	s.link.mu.Unlock()
	s.link.retire(s)
	s.link.mu.Lock()
	s.over = true
	then := s.then
	close(s.done)
	s.link.mu.Unlock()
	s.tellTaken()
	if then != nil {
		then()
	}
}

// output returns one stream of output and its writer.
func (s *Session) output(stream uint8) (*flow.In, io.Writer) {
	in, w := s.stdout, s.streams.Stdout
	if stream == wire.Stderr {
		in, w = s.stderr, s.streams.Stderr
	}
	if w == nil {
		w = io.Discard
	}
	return in, w
}

// pump has the bytes of a stream written that have arrived, unless a goroutine does so already.
func (s *Session) pump(stream uint8) {
	if !s.writing[stream].TryLock() {
		return // its holder looks again when it has written
	}
	s.link.running.Go(func() {
		in, w := s.output(stream)
		for {
			s.wrote(stream, in.Flush(w))
			s.writing[stream].Unlock()
			if !in.Pending() || !s.writing[stream].TryLock() {
				return
			}
		}
	})
}

// wrote handles the result of writing a stream. A writer that fails is like a closed pipe: the
// worker is told that nobody reads.
func (s *Session) wrote(stream uint8, err error) {
	if err == nil {
		return
	}
	s.link.cfg.Log.Debug("output is not read any more", "worker", s.link.cfg.Worker, "session", s.id, "err", err)
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.unread[stream] = true
	if s.conn != nil {
		s.conn.push(wire.Frame{Type: wire.Close, Stream: stream, Channel: s.channel})
	}
}

// read moves the caller's stdin into the window.
func (s *Session) read() {
	defer s.stdin.End()
	buf := make([]byte, 32<<10)
	for {
		n, err := s.stdin.WaitRoom(len(buf))
		if err != nil {
			return
		}
		n, err = s.streams.Stdin.Read(buf[:n])
		if n > 0 {
			if _, werr := s.stdin.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return // its end, or closed by us; any other failure also ends the stream
		}
	}
}

// fail ends the session with err unless it has ended. If its record and all its output have
// arrived, the output is still written.
func (s *Session) fail(err error) {
	s.link.mu.Lock()
	exit := s.exit
	switch {
	case exit == nil && s.err == nil:
		s.err = err
		s.link.running.Go(s.finish)
	case s.err == nil && !s.complete():
		// It exited, but the rest of its output is lost with the worker.
		s.err = fmt.Errorf("output lost after the command ended: %w", err)
	}
	whole := s.err == nil
	s.link.mu.Unlock()
	if !whole {
		s.stdout.Abort()
		s.stderr.Abort()
		return
	}
	// EOF may not have arrived yet for either stream. The record has the ends.
	s.endAt(wire.Stdout, s.stdout, exit.Stdout)
	s.endAt(wire.Stderr, s.stderr, exit.Stderr)
}

// endAt ends a stream at the record's total. If the worker had sent another end before, the writer
// would otherwise wait forever.
func (s *Session) endAt(stream uint8, in *flow.In, total uint64) {
	err := in.End(total)
	if err == nil {
		return
	}
	s.link.mu.Lock()
	if !s.unread[stream] {
		s.err = fmt.Errorf("output lost after the command ended: %w", err)
	}
	s.link.mu.Unlock()
	in.Abort()
}

// Arrived reports whether the exit record and all output have been received. Wait also waits until
// the output has been written.
func (s *Session) Arrived() bool {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	return s.complete()
}

// complete reports whether all output has been received. The caller holds link.mu.
func (s *Session) complete() bool {
	return s.exit != nil &&
		(s.unread[wire.Stdout] || s.stdout.Received() == s.exit.Stdout) &&
		(s.unread[wire.Stderr] || s.stderr.Received() == s.exit.Stderr)
}

// retire removes an ended session from the link and lets the worker forget it.
func (l *Link) retire(s *Session) {
	l.mu.Lock()
	l.work.remove(s)
	// A session that the worker refused may have the id of another, running session.
	if c := l.current.get(); c != nil && s.confirmed {
		push := c.push
		if s.exit != nil && s.exit.Reason == "" {
			push = c.pushPatiently // nothing stops the worker
		}
		c.encode(wire.Forget, 0, wire.ForgetRecord{ID: s.id}, push)
	}
	l.mu.Unlock()
	l.report()
}

// kick wakes the sender. It is called with locks of flow held.
func (s *Session) kick() {
	if c := s.link.current.get(); c != nil {
		c.kick()
	}
}

// ackDue makes the sender check for acknowledgements. It is called without locks of this package,
// but perhaps with locks of flow.
func (s *Session) ackDue() {
	if c := s.link.current.get(); c != nil {
		c.lookForAcks()
	}
}

// trim lets idle streams free their buffers.
func (l *Link) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.work.sessions {
		s.stdout.Trim()
		s.stderr.Trim()
	}
}

// appendStdin appends one frame of stdin for each session that has some.
func (l *Link) appendStdin(c *conn, b []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.work.sessions {
		if s.conn != c || len(b) >= wire.MaxData || !s.stdin.Pending() {
			continue
		}
		start := len(b)
		b = slices.Grow(b, wire.HeaderLen+64<<10)
		frame := b[start : start+wire.HeaderLen+64<<10]
		p, ok, err := s.stdin.Next(frame[wire.HeaderLen:])
		if err != nil || !ok {
			continue // an Out without files never fails
		}
		f := wire.Frame{Type: wire.Data, Stream: wire.Stdin, Channel: s.channel, Offset: p.Offset}
		if p.End {
			f.Type = wire.EOF
		}
		wire.PutHeader(frame, f, p.N)
		b = b[:start+wire.HeaderLen+p.N]
	}
	return b
}
