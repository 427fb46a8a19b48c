package link

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/flow"
	"github.com/musterhq/muster/exec/wire"
)

// readBuffer is for small frames: the payload of a large frame is read directly into its place. A
// launcher has thousands of these buffers.
const readBuffer = 512

// keptBuffer is the largest write buffer in bytes that a connection keeps while it has nothing to
// send.
const keptBuffer = 512

// conn is one connection of a link. While nothing happens it has one goroutine, which reads: a
// launcher may have thousands of connections, and a goroutine that waits costs several kilobytes.
type conn struct {
	link   *Link
	rw     io.ReadWriteCloser
	reader *wire.Reader
	done   chan struct{}  // closed by close
	proto  int            // negotiated version; set before serve
	loops  sync.WaitGroup // sender and watcher, while they run
	pace   *flow.Pace     // of the sender
	buf    []byte         // of the sender

	born  time.Time
	pulse pulse

	mu     sync.Mutex
	sender sender
	queue  []wire.Frame
	late   *time.Timer // kicks for a frame that waits for others; nil: there was none
	ackDue bool
	cause  error       // why it was closed; nil: it is open
	timer  *time.Timer // calls watch
	pings  uint64      // number of the last PING sent
	proofs []proof
	asks   uint64              // number of the last ASK sent
	asking map[uint64]*pending // nil: none was sent
}

func newConn(l *Link, rw io.ReadWriteCloser) *conn {
	c := &conn{link: l, rw: rw, born: time.Now(), done: make(chan struct{})}
	c.pace = flow.NewPace(c.lookForAcks)
	c.reader = wire.NewReader(bufio.NewReaderSize(lifeReader{c}, readBuffer))
	return c
}

// lifeReader records when bytes come. Any byte is a sign of life, not only a PONG, which would come
// late behind a megabyte on a slow link.
type lifeReader struct{ c *conn }

func (r lifeReader) Read(p []byte) (int, error) {
	r.c.pulse.waits.Store(int64(r.c.age()))
	n, err := r.c.rw.Read(p)
	if n > 0 {
		r.c.pulse.heard.Store(int64(r.c.age()))
	}
	r.c.pulse.waits.Store(0)
	return n, err
}

// age returns the time since the connection was made. It is never 0.
func (c *conn) age() time.Duration { return max(1, time.Since(c.born)) }

// owes returns since when the worker owes an answer to a PING, or zero if it owes none.
func (c *conn) owes() time.Time {
	if asked, ok := c.pulse.owes(); ok {
		return c.born.Add(asked)
	}
	return time.Time{}
}

// serve moves frames until the connection ends, and returns the reason.
func (c *conn) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.close(context.Cause(ctx)) })
	defer stop()
	c.mu.Lock()
	if c.cause == nil {
		c.timer = time.AfterFunc(c.link.cfg.PingEvery, c.watch)
	}
	c.mu.Unlock()
	c.close(c.receive())
	c.loops.Wait()
	c.pace.Stop()
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
		for _, t := range []*time.Timer{c.timer, c.late} {
			if t != nil {
				t.Stop()
			}
		}
	}
	c.mu.Unlock()
	if first {
		c.rw.Close()
	}
}

// lookForAcks makes the sender check for acknowledgements.
func (c *conn) lookForAcks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ackDue = true
	c.rouse()
}

func (c *conn) push(f wire.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, f)
	c.rouse()
}

// patience is how long FORGET waits for other frames to go out with, if the worker does not need it. In a
// launch of many workers, thousands of processes have more urgent work. A worker that is told to stop by
// Kubernetes waits for FORGET.
const patience = 2 * time.Second

// pushPatiently is push for a frame that may wait for patience.
func (c *conn) pushPatiently(f wire.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, f)
	switch {
	case c.cause != nil:
	case c.late == nil:
		c.late = time.AfterFunc(patience, c.kick)
	case len(c.queue) == 1:
		c.late.Reset(patience)
	}
}

func (c *conn) record(t wire.Type, channel uint32, v any) { c.encode(t, channel, v, c.push) }

// encode makes a frame of v and passes it to push.
func (c *conn) encode(t wire.Type, channel uint32, v any, push func(wire.Frame)) {
	f, err := wire.Record(t, channel, v)
	if err != nil {
		c.close(err)
		return
	}
	push(f)
}

// watch pings an idle connection, closes a dead one, and parks one that only detached sessions
// need. The timer calls it.
func (c *conn) watch() {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	c.loops.Add(1)
	c.mu.Unlock()
	defer c.loops.Done()
	again, ok := c.look(time.Now())
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.timer.Reset(max(again, time.Millisecond))
	}
}

// look does what watch is for, and returns after which time it is due again. ok is false if it will
// not be due any more.
func (c *conn) look(now time.Time) (again time.Duration, ok bool) {
	cfg := &c.link.cfg
	age := now.Sub(c.born)
	silence, quiet := c.pulse.silence(age), age-time.Duration(c.pulse.written.Load())
	second := cfg.DeadAfter / lookTwice
	switch dead, sure := c.pulse.dead(age, cfg.DeadAfter, cfg.PingEvery); {
	case sure:
		c.close(&DialError{Kind: Dropped, Err: fmt.Errorf("no data for %s", silence.Round(time.Millisecond))})
		return 0, false
	case dead:
		return second, true
	}
	if c.link.mayPark(now) {
		c.record(wire.Park, 0, wire.ParkRecord{LeaseSeconds: int(cfg.ParkLease / time.Second)})
		return 0, false
	}
	if silence < cfg.PingEvery && quiet < cfg.PingEvery {
		return cfg.PingEvery - max(silence, quiet), true
	}
	if c.pulse.pinged == 0 || age-c.pulse.pinged >= cfg.PingEvery {
		c.pulse.pinged = age
		c.ping()
		c.link.trim()
	}
	return min(cfg.PingEvery, max(second, cfg.DeadAfter-second-silence)), true
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
