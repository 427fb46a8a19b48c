//go:build linux

package session

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/wire"
)

// conn is one connection of the launcher, usually through a bridge.
type conn struct {
	srv    *Server
	nc     net.Conn
	reader *wire.Reader
	kicked chan struct{} // wakes the sender
	proto  int           // negotiated version; set before the first frame is read

	mu      sync.Mutex
	queue   []wire.Frame // sent before any data
	patient patient
	ackDue  bool            // a process may have read stdin
	flushed []chan struct{} // closed when the queue is empty
	closed  bool
	gone    chan struct{} // closed when closed is set

	channels map[uint32]*session // guarded by srv.mu
	order    []*session          // the sender's order, guarded by srv.mu
}

// heardReader renews the lease and the connection's deadline with every byte: a PONG behind a
// megabyte on a slow link would come late.
type heardReader struct{ c *conn }

func (r heardReader) Read(p []byte) (int, error) {
	n, err := r.within(p, r.c.srv.cfg.DeadAfter)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// If this process did not run until then, what came meanwhile has not been read.
		n, err = r.within(p, secondLook)
	}
	if n > 0 {
		r.c.srv.hear()
	}
	return n, err
}

// secondLook is how long a connection has that seems dead.
const secondLook = time.Second

func (r heardReader) within(p []byte, limit time.Duration) (int, error) {
	if err := r.c.nc.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return 0, err
	}
	return r.c.nc.Read(p)
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{srv: s, nc: nc, kicked: make(chan struct{}, 1), gone: make(chan struct{}), channels: map[uint32]*session{}}
}

// readHello reads the first frame with its own deadline, before the peer may renew anything.
func (c *conn) readHello() (wire.HelloRecord, error) {
	var h wire.HelloRecord
	if err := c.nc.SetReadDeadline(time.Now().Add(c.srv.cfg.HelloTimeout)); err != nil {
		return h, err
	}
	f, err := wire.NewReader(c.nc).Next()
	if err != nil {
		return h, err
	}
	if f.Type != wire.Hello {
		return h, fmt.Errorf("%w: first frame has type %d", wire.ErrProtocol, f.Type)
	}
	return h, f.Decode(&h)
}

// refuse answers a HELLO. The caller closes the connection.
func (c *conn) refuse(r wire.RefuseRecord) {
	f, err := wire.Record(wire.Refuse, 0, r)
	if err != nil {
		return
	}
	b, err := wire.Append(nil, f)
	if err != nil {
		return
	}
	// The peer may be gone, and there is nobody else to tell.
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = c.nc.Write(b)
}

// serve moves frames in both directions until the connection ends, and returns the reason.
func (c *conn) serve(w wire.WelcomeRecord) error {
	c.proto = w.Proto
	c.record(wire.Welcome, 0, w)
	c.srv.welcomed(c)
	var sendErr error
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		sendErr = c.send()
		c.close()
	}()
	c.reader = wire.NewReader(bufio.NewReaderSize(heardReader{c}, 16<<10))
	err := c.receive()
	c.close()
	<-sent
	if sendErr != nil && errors.Is(err, net.ErrClosed) {
		return sendErr
	}
	return err
}

func (c *conn) receive() error {
	for {
		f, err := c.reader.Next()
		if err != nil {
			return err
		}
		if err := c.srv.handle(c, f); err != nil {
			return err
		}
	}
}

// close ends both loops. It may be called by any goroutine, any number of times.
func (c *conn) close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.gone)
		c.patient.take()
	}
	c.mu.Unlock()
	c.kick()
	c.nc.Close()
}

func (c *conn) kick() {
	select {
	case c.kicked <- struct{}{}:
	default:
	}
}

// lookForAcks makes the sender check for acknowledgements.
func (c *conn) lookForAcks() {
	c.mu.Lock()
	c.ackDue = true
	c.mu.Unlock()
	c.kick()
}

// longestQueue limits the frames that wait for a launcher which asks but does not read. It allows
// two frames for each of many thousand sessions.
const longestQueue = 1 << 16

// push queues a frame that is sent before any data.
func (c *conn) push(f wire.Frame) {
	c.mu.Lock()
	full := len(c.queue) >= longestQueue
	if !full {
		c.queue = append(c.queue, f)
	}
	c.mu.Unlock()
	if full {
		c.close()
		return
	}
	c.kick()
}

func (c *conn) record(t wire.Type, channel uint32, v any) { c.encode(t, channel, v, c.push) }

// encode makes a frame of v and passes it to push.
func (c *conn) encode(t wire.Type, channel uint32, v any, push func(wire.Frame)) {
	f, err := wire.Record(t, channel, v)
	if err != nil {
		c.srv.cfg.Log.Error("record is too long for a frame", "type", t, "err", err)
		c.close()
		return
	}
	push(f)
}

// removeLocked removes a session from the connection. The caller holds srv.mu.
func (c *conn) removeLocked(x *session) {
	// x.channel may be from an earlier connection, and belong to another session here.
	if c.channels[x.channel] == x {
		delete(c.channels, x.channel)
	}
	order := make([]*session, 0, len(c.order))
	for _, o := range c.order {
		if o != x {
			order = append(order, o)
		}
	}
	c.order = order
}

// partTime is how long the launcher may take to close the connection after ENDED.
const partTime = 2 * time.Second

// part waits until the launcher has closed the connection, or partTime has passed.
func (c *conn) part() {
	timer := time.NewTimer(partTime)
	defer timer.Stop()
	select {
	case <-c.gone:
	case <-timer.C:
	}
}

// flush waits until the queued frames have been written, the connection has ended, or a second has
// passed.
func (c *conn) flush() {
	done := make(chan struct{})
	c.mu.Lock()
	c.flushed = append(c.flushed, done)
	c.mu.Unlock()
	c.kick()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
