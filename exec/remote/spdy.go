package remote

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// The SPDY subprotocol of pods/exec. v4 reports exit codes, and every server with SPDY has it. Each
// stream has its name in a header.
const (
	protocolV4     = "v4.channel.k8s.io"
	headerProtocol = "X-Stream-Protocol-Version"
	headerStream   = "streamtype" // in lower case, like all names in SPDY
	upgradeSPDY    = "SPDY/3.1"
)

const (
	// verdictWait limits the wait for the error channel after stdout has ended.
	verdictWait = 2 * time.Second
	// mostPongs is how many pongs are kept while a write is in progress.
	mostPongs = 64
)

var errReset = errors.New("the API server reset a stream")

// spdyConn has no goroutine: the caller of Read reads frames from the connection.
type spdyConn struct {
	target Target
	line   *line
	rw     io.ReadWriteCloser
	in     *bufio.Reader
	tail   tail

	// The fields below belong to the reader.
	left    int // unread bytes of a stdout frame
	done    bool
	told    bool // the error channel has ended
	said    []byte
	replies int
	reset   bool
	err     error // sticky

	writing sync.Mutex
	mu      sync.Mutex
	pongs   []byte // frames to be written

	closing sync.Once
	closed  chan struct{}
}

func (d *Dialer) spdy(ctx context.Context, cfg *rest.Config, u *url.URL, l *line) (io.ReadWriteCloser, error) {
	tlsConfig, err := d.proto.resumed(cfg)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			return l.dial(ctx, network, address)
		},
		Proxy:              proxier(cfg),
		TLSClientConfig:    tlsConfig,
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	var raw io.ReadWriteCloser
	header := http.Header{"Connection": {"Upgrade"}, "Upgrade": {upgradeSPDY}, headerProtocol: {protocolV4}}
	err = d.request(ctx, cfg, http.MethodPost, u, header, roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := transport.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusSwitchingProtocols && resp.Header.Get(headerProtocol) == protocolV4 {
			raw, _ = resp.Body.(io.ReadWriteCloser)
		}
		return resp, err
	}))
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		refused.protocol = "SPDY"
		return nil, refused
	case err != nil:
		return nil, err
	case raw == nil:
		return nil, &refusedError{protocol: "SPDY", cause: errNoProtocol, lasting: true}
	}
	return d.openSPDY(l, raw)
}

// openSPDY opens all four streams, and then waits for the replies: one round trip.
func (d *Dialer) openSPDY(l *line, raw io.ReadWriteCloser) (io.ReadWriteCloser, error) {
	c := &spdyConn{target: d.target, line: l, rw: raw, in: bufio.NewReaderSize(raw, readBuffer), closed: make(chan struct{})}
	if err := c.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open streams: %w", err), c.Close())
	}
	return c, nil
}

func (c *spdyConn) open() error {
	if _, err := c.rw.Write(openFrames()); err != nil {
		return err
	}
	// Output or the end of the process may arrive before the last reply.
	for c.replies < len(spdyStreams) && c.left == 0 && !c.done && !c.told {
		if err := c.nextFrame(); err != nil {
			return err
		}
		if c.reset {
			return errReset
		}
	}
	return nil
}

// Read returns bytes of the attach's standard output, or a *link.DialError.
func (c *spdyConn) Read(p []byte) (int, error) {
	for len(p) > 0 && c.err == nil {
		switch {
		case c.left > 0:
			n, err := c.in.Read(p[:min(len(p), c.left)])
			if c.left -= n; n > 0 {
				return n, nil
			}
			if err != nil {
				c.err = c.ended(err)
			}
		case c.done:
			c.err = c.ended(c.finish())
		default:
			if err := c.nextFrame(); err != nil {
				c.err = c.ended(err)
			}
		}
	}
	return 0, c.err
}

// finish waits for the end of the error channel after stdout has ended.
func (c *spdyConn) finish() error {
	cut := time.AfterFunc(verdictWait, c.line.close)
	defer cut.Stop()
	for !c.told {
		if err := c.skip(c.left); err != nil {
			return err
		}
		c.left = 0
		if err := c.nextFrame(); err != nil {
			return err
		}
	}
	return nil
}

func (c *spdyConn) ended(err error) error {
	select {
	case <-c.closed:
		return c.target.closed()
	default:
	}
	if len(c.said) > 0 {
		return c.target.verdict(c.said, c.tail.String())
	}
	return c.target.dropped(err, c.tail.String())
}

// nextFrame reads one frame from the connection, but only the header of a stdout frame.
func (c *spdyConn) nextFrame() error {
	var head [spdyHeaderLen]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return err
	}
	f := parseSPDY(head)
	if f.control {
		return c.obey(f)
	}
	switch f.stream {
	case streamStdout:
		c.left, c.done = f.length, c.done || f.fin
		return nil
	case streamError:
		return c.hear(f)
	case streamStderr:
		_, err := io.CopyN(&c.tail, c.in, int64(f.length))
		return err
	}
	return c.skip(f.length)
}

// hear keeps what comes on the error channel.
func (c *spdyConn) hear(f spdyFrame) error {
	piece := make([]byte, min(f.length, answerLimit-len(c.said)))
	if _, err := io.ReadFull(c.in, piece); err != nil {
		return err
	}
	c.said, c.told = append(c.said, piece...), c.told || f.fin
	return c.skip(f.length - len(piece))
}

// obey handles a control frame. It ignores windows, which servers do not use, and headers, which
// have nothing that we need.
func (c *spdyConn) obey(f spdyFrame) error {
	var id [4]byte
	if f.length < len(id) {
		return c.skip(f.length)
	}
	if _, err := io.ReadFull(c.in, id[:]); err != nil {
		return err
	}
	number := binary.BigEndian.Uint32(id[:])
	switch f.kind {
	case spdyReply:
		c.replies++
	case spdyReset:
		c.reset = true
		c.done = c.done || number == streamStdout
		c.told = c.told || number == streamError
	case spdyPing:
		if number%2 == 0 { // even numbers are the server's
			c.pong(id)
		}
	}
	return c.skip(f.length - len(id))
}

func (c *spdyConn) skip(n int) error {
	_, err := c.in.Discard(n)
	return err
}

// Write sends p to the attach's standard input.
func (c *spdyConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	sent := 0
	for sent < len(p) {
		n := min(len(p)-sent, writeChunk)
		frame := appendData(make([]byte, 0, spdyHeaderLen+n), streamStdin, p[sent:sent+n])
		if err := c.send(frame); err != nil {
			select {
			case <-c.closed:
				return sent, c.target.closed()
			default:
				return sent, c.target.dropped(err, "")
			}
		}
		sent += n
	}
	return sent, nil
}

// send writes a frame, and pending answers to pings. The caller holds writing.
func (c *spdyConn) send(frame []byte) error {
	c.mu.Lock()
	frame, c.pongs = append(frame, c.pongs...), nil
	c.mu.Unlock()
	if len(frame) == 0 {
		return nil
	}
	_, err := c.rw.Write(frame)
	return err
}

// pong answers a ping. It does not wait for a write in progress, which may be waiting for this
// reader. In that case the answer is sent with the next write.
func (c *spdyConn) pong(id [4]byte) {
	c.mu.Lock()
	if len(c.pongs) < mostPongs*(spdyHeaderLen+len(id)) {
		c.pongs = append(appendControl(c.pongs, spdyPing, len(id)), id[:]...)
	}
	c.mu.Unlock()
	if c.writing.TryLock() {
		defer c.writing.Unlock()
		_ = c.send(nil) // the next Read reports a connection that has ended
	}
}

// Close cuts the connection. Blocked Reads and Writes return.
func (c *spdyConn) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.line.close()
		_ = c.rw.Close() // its TCP connection is already closed
	})
	return nil
}
