package link

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// readBuffer is for small frames: the payload of a large frame is read directly into its place. A
// launcher has a thousand of these buffers.
const readBuffer = 4 << 10

// keptBuffer is the largest write buffer that an idle connection keeps, in bytes.
const keptBuffer = 4 << 10

// conn is one connection of a link.
type conn struct {
	link   *Link
	rw     io.ReadWriteCloser
	reader *wire.Reader
	kicked chan struct{}
	done   chan struct{} // closed by close
	proto  int           // negotiated version; set before serve

	// Times are durations since born, by the monotonic clock: a step of the wall clock must not
	// make a live connection look dead, nor a dead one alive.
	born    time.Time
	read    atomic.Int64 // when the last byte came
	written atomic.Int64

	mu     sync.Mutex
	queue  []wire.Frame
	ackDue bool
	idle   bool   // no traffic for a while; a large buffer is freed then
	cause  error  // why it was closed
	pings  uint64 // number of the last PING sent
	proofs []proof
	asks   uint64 // number of the last ASK sent
	asking map[uint64]*pending
}

func newConn(l *Link, rw io.ReadWriteCloser) *conn {
	c := &conn{link: l, rw: rw, born: time.Now(), kicked: make(chan struct{}, 1), done: make(chan struct{}), asking: map[uint64]*pending{}}
	c.reader = wire.NewReader(bufio.NewReaderSize(lifeReader{c}, readBuffer))
	return c
}

// lifeReader records when bytes come. Any byte is a sign of life, not only a PONG, which would come
// late behind a megabyte on a slow link.
type lifeReader struct{ c *conn }

func (r lifeReader) Read(p []byte) (int, error) {
	n, err := r.c.rw.Read(p)
	if n > 0 {
		r.c.read.Store(int64(time.Since(r.c.born)))
	}
	return n, err
}

// serve moves frames until the connection ends, and returns the reason.
func (c *conn) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.close(context.Cause(ctx)) })
	defer stop()
	var loops sync.WaitGroup
	loops.Go(func() { c.close(c.send()) })
	loops.Go(func() { c.watch() })
	c.close(c.receive())
	loops.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// close ends the connection. Only the first cause is kept.
func (c *conn) close(cause error) {
	c.mu.Lock()
	first := c.cause == nil
	if first {
		if cause == nil {
			cause = io.EOF
		}
		c.cause = cause
		close(c.done)
	}
	c.mu.Unlock()
	if first {
		c.rw.Close()
	}
	c.kick()
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

func (c *conn) push(f wire.Frame) {
	c.mu.Lock()
	c.queue = append(c.queue, f)
	c.mu.Unlock()
	c.kick()
}

func (c *conn) record(t wire.Type, channel uint32, v any) {
	f, err := wire.Record(t, channel, v)
	if err != nil {
		c.close(err)
		return
	}
	c.push(f)
}

// watch pings an idle connection, closes a dead one, and parks one that only detached sessions
// need.
func (c *conn) watch() {
	cfg := &c.link.cfg
	timer := time.NewTimer(cfg.PingEvery)
	defer timer.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-timer.C:
		}
		now := time.Now()
		age := now.Sub(c.born)
		silence, quiet := age-time.Duration(c.read.Load()), age-time.Duration(c.written.Load())
		if silence >= cfg.DeadAfter {
			c.close(&DialError{Kind: Dropped, Err: fmt.Errorf("no data for %s", silence.Round(time.Millisecond))})
			return
		}
		if c.link.mayPark(now) {
			c.record(wire.Park, 0, wire.ParkRecord{LeaseSeconds: int(cfg.ParkLease / time.Second)})
			return
		}
		if silence >= cfg.PingEvery || quiet >= cfg.PingEvery {
			c.mu.Lock()
			c.idle = true
			c.mu.Unlock()
			c.ping()
			c.link.trim()
		}
		next := min(cfg.PingEvery, cfg.DeadAfter-silence)
		if silence < cfg.PingEvery && quiet < cfg.PingEvery {
			next = cfg.PingEvery - max(silence, quiet)
		}
		timer.Reset(max(next, time.Millisecond))
	}
}

// send writes queued frames, acknowledgements and stdin until the connection is closed or parked.
// Nothing follows PARK.
func (c *conn) send() error {
	var buf []byte
	pace := flow.NewPace(c.lookForAcks)
	defer pace.Stop()
	for {
		c.mu.Lock()
		queue, acks, idle, closed := c.queue, c.ackDue, c.idle, c.cause != nil
		c.queue, c.ackDue, c.idle = nil, false, false
		c.mu.Unlock()
		if closed {
			return nil
		}
		b := buf[:0]
		parked := false
		var err error
		for _, f := range queue {
			if b, err = wire.Append(b, f); err != nil {
				return err
			}
			if parked = f.Type == wire.Park; parked {
				break
			}
		}
		if acks && !parked {
			if b, err = c.link.appendAcks(c, b, pace); err != nil {
				return err
			}
		}
		if len(b) == 0 {
			b = c.link.appendStdin(c, b)
		}
		if len(b) == 0 {
			<-c.kicked
			continue
		}
		if _, err := c.rw.Write(b); err != nil {
			return err
		}
		if parked {
			return errParked
		}
		c.written.Store(int64(time.Since(c.born)))
		if buf = b[:0]; cap(buf) > 2*wire.MaxData || idle && cap(buf) > keptBuffer {
			buf = nil
		}
	}
}

// receive handles frames until the connection ends.
func (c *conn) receive() error {
	for {
		f, err := c.reader.Next()
		if err != nil {
			return err
		}
		if err := c.link.handle(c, f); err != nil {
			return err
		}
	}
}
