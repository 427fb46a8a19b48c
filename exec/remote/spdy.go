package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/moby/spdystream"
	"k8s.io/client-go/rest"
)

// The SPDY subprotocol of pods/exec: v4 gives exit codes, and every server that
// speaks SPDY at all has it. Each stream names itself in a header.
const (
	protocolV4     = "v4.channel.k8s.io"
	headerProtocol = "X-Stream-Protocol-Version"
	headerStream   = "streamType"
	upgradeSPDY    = "SPDY/3.1"
)

const (
	// replyPoll is how often the wait for a stream's reply looks whether the
	// connection is still there: spdystream itself would wait on.
	replyPoll = 20 * time.Millisecond
	// replyGrace is how long a reply may still be under way inside spdystream
	// when the connection has ended.
	replyGrace = 500 * time.Millisecond
	// verdictWait bounds the wait for the error channel after stdout has ended.
	verdictWait = 2 * time.Second
	// closeWait bounds the wait for spdystream's own shutdown; the connection is
	// cut by then, so it only tidies up.
	closeWait = 2 * time.Second
)

// ErrLingers: spdystream's own shutdown of a connection that is closed has not
// come to its end, and keeps two goroutines.
var ErrLingers = errors.New("close SPDY connection: its shutdown lingers")

type spdyConn struct {
	target                Target
	line                  *line
	spdy                  *spdystream.Connection
	stdin, stdout, stderr *spdystream.Stream
	errors                *spdystream.Stream
	tail                  tail
	said                  chan []byte // what came on the error channel, once
	err                   error       // sticky, of Read
	tasks                 sync.WaitGroup
	closing               sync.Once
	closed                chan struct{}
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
	return d.openSPDY(ctx, l, raw)
}

func (d *Dialer) openSPDY(ctx context.Context, l *line, raw io.ReadWriteCloser) (io.ReadWriteCloser, error) {
	session, err := spdystream.NewConnection(&upgraded{ReadWriteCloser: raw, line: l}, false)
	if err != nil {
		return nil, err
	}
	c := &spdyConn{target: d.target, line: l, spdy: session, said: make(chan []byte, 1), closed: make(chan struct{})}
	c.tasks.Go(func() { session.Serve(spdystream.NoOpStreamHandler) })
	if err := c.openStreams(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.tasks.Go(func() {
		said, _ := io.ReadAll(io.LimitReader(c.errors, answerLimit))
		c.said <- said
	})
	c.tasks.Go(func() { _, _ = io.Copy(&c.tail, c.stderr) })
	return c, nil
}

// openStreams asks for all four streams, then awaits the replies: one round trip.
func (c *spdyConn) openStreams(ctx context.Context) error {
	streams := []struct {
		kind string
		at   **spdystream.Stream
	}{{"error", &c.errors}, {"stdin", &c.stdin}, {"stdout", &c.stdout}, {"stderr", &c.stderr}}
	for _, s := range streams {
		header := http.Header{}
		header.Set(headerStream, s.kind)
		stream, err := c.spdy.CreateStream(header, nil, false)
		// Kept also when it could not be sent: spdystream has it in its books, and
		// its shutdown waits until Close has reset it.
		*s.at = stream
		if err != nil {
			return fmt.Errorf("open %s stream: %w", s.kind, err)
		}
	}
	for _, s := range streams {
		if err := c.awaitReply(ctx, *s.at); err != nil {
			return fmt.Errorf("open %s stream: %w", s.kind, err)
		}
	}
	return nil
}

func (c *spdyConn) awaitReply(ctx context.Context, stream *spdystream.Stream) error {
	for {
		err := stream.WaitTimeout(replyPoll)
		if !errors.Is(err, spdystream.ErrTimeout) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-c.spdy.CloseChan():
			// Frames that came before the end may still be on their way to the
			// stream: a process that ends at once is a stream, not a failed dial.
			if err := stream.WaitTimeout(replyGrace); !errors.Is(err, spdystream.ErrTimeout) {
				return err
			}
			return io.ErrUnexpectedEOF
		default:
		}
	}
}

// Read returns bytes of the attach's standard output, or a *link.DialError.
func (c *spdyConn) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	n, err := c.stdout.Read(p)
	if n > 0 || err == nil {
		return n, nil
	}
	c.err = c.ended(err)
	return 0, c.err
}

func (c *spdyConn) ended(err error) error {
	wait := time.NewTimer(verdictWait)
	defer wait.Stop()
	select {
	case <-c.closed:
		return c.target.closed()
	case said := <-c.said:
		if len(said) > 0 {
			return c.target.verdict(said, c.tail.String())
		}
	case <-wait.C:
	}
	return c.target.dropped(err, c.tail.String())
}

// Write sends p to the attach's standard input.
func (c *spdyConn) Write(p []byte) (int, error) {
	if err := c.stdin.WriteData(p, false); err != nil {
		select {
		case <-c.closed:
			return 0, c.target.closed()
		default:
			return 0, c.target.dropped(err, "")
		}
	}
	return len(p), nil
}

// Close cuts the connection and waits for what it had started. The first call's
// error is ErrLingers or nil.
func (c *spdyConn) Close() (err error) {
	c.closing.Do(func() {
		close(c.closed)
		c.line.close()
		for _, stream := range []*spdystream.Stream{c.errors, c.stdin, c.stdout, c.stderr} {
			if stream != nil {
				// Lets a frame handler go that waits for this stream's reader.
				_ = stream.Reset()
			}
		}
		_ = c.spdy.Close()
		c.tasks.Wait()
		if errors.Is(c.spdy.Wait(closeWait), spdystream.ErrTimeout) {
			err = ErrLingers
		}
	})
	return err
}

// upgraded lends the connection under an upgraded HTTP answer to spdystream.
// Closing it twice is no error: spdystream would keep a goroutine for that.
type upgraded struct {
	io.ReadWriteCloser
	line *line
}

func (u *upgraded) Close() error {
	u.line.close()
	_ = u.ReadWriteCloser.Close()
	return nil
}

func (u *upgraded) LocalAddr() net.Addr              { return nil }
func (u *upgraded) RemoteAddr() net.Addr             { return nil }
func (u *upgraded) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (u *upgraded) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (u *upgraded) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }
