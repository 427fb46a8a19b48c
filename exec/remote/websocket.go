package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
)

// The WebSocket subprotocol of pods/exec and its channels, from k8s.io/api and KEP-4006. Each
// binary message begins with the number of its channel.
const (
	protocolV5    = "v5.channel.k8s.io"
	channelStdin  = 0
	channelStdout = 1
	channelStderr = 2
	channelError  = 3
)

// writeChunk is the payload of one message, in bytes. The server treats each WebSocket frame as a
// separate message, so a message must never be split. The connection's write buffer holds exactly
// this payload and the channel number.
const writeChunk = 64 << 10

// readBuffer is for frame headers, in bytes: a Read with more room than this reads the payload
// directly from the connection. A launcher has a thousand of these buffers.
const readBuffer = 4 << 10

// writeBuffers lends a write buffer for the duration of one message: a thousand idle links must not
// hold a thousand of them.
var writeBuffers sync.Pool

type webSocketConn struct {
	target Target
	line   *line
	ws     *websocket.Conn
	tail   tail

	stdout  io.Reader // rest of the current stdout message
	channel [1]byte
	err     error // sticky, of Read

	writing sync.Mutex
	closing sync.Once
	closed  chan struct{}
}

func (d *Dialer) webSocket(ctx context.Context, cfg *rest.Config, u *url.URL, l *line) (io.ReadWriteCloser, error) {
	tlsConfig, err := d.proto.resumed(cfg)
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{
		NetDialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			return l.dial(ctx, network, address)
		},
		Proxy:           proxier(cfg),
		TLSClientConfig: tlsConfig,
		Subprotocols:    []string{protocolV5},
		ReadBufferSize:  readBuffer,
		WriteBufferSize: writeChunk + 1,
		WriteBufferPool: &writeBuffers,
	}
	var ws *websocket.Conn
	err = d.request(ctx, cfg, http.MethodGet, u, nil, roundTripper(func(req *http.Request) (*http.Response, error) {
		at := *req.URL
		at.Scheme = "ws" + strings.TrimPrefix(at.Scheme, "http")
		conn, resp, err := dialer.DialContext(req.Context(), at.String(), req.Header)
		if errors.Is(err, websocket.ErrBadHandshake) && resp != nil {
			return resp, nil
		}
		ws = conn
		return resp, err
	}))
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		refused.protocol = "WebSocket"
		return nil, refused
	case err != nil && strings.Contains(err.Error(), "proxy: unknown scheme: https"):
		// The WebSocket library cannot use such a proxy, but net/http can.
		return nil, &refusedError{protocol: "WebSocket", cause: err, lasting: true}
	case err != nil:
		return nil, err
	case ws == nil:
		return nil, &refusedError{protocol: "WebSocket", cause: websocket.ErrBadHandshake, lasting: true}
	case ws.Subprotocol() != protocolV5:
		return nil, &refusedError{protocol: "WebSocket", cause: errNoProtocol, lasting: true}
	}
	return &webSocketConn{target: d.target, line: l, ws: ws, closed: make(chan struct{})}, nil
}

func proxier(cfg *rest.Config) func(*http.Request) (*url.URL, error) {
	if cfg.Proxy != nil {
		return cfg.Proxy
	}
	return utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
}

// Read returns bytes of the attach's standard output, or a *link.DialError.
func (c *webSocketConn) Read(p []byte) (int, error) {
	for len(p) > 0 && c.err == nil {
		if c.stdout == nil {
			c.err = c.nextMessage()
			continue
		}
		n, err := c.stdout.Read(p)
		if err != nil {
			c.stdout = nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			c.err = c.ended(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, c.err
}

// nextMessage reads messages from the connection up to the next one of stdout.
func (c *webSocketConn) nextMessage() error {
	_, message, err := c.ws.NextReader()
	if err != nil {
		return c.ended(err)
	}
	if _, err := io.ReadFull(message, c.channel[:]); err != nil {
		return nil //nolint:nilerr // an empty message; a broken connection shows at the next one
	}
	switch c.channel[0] {
	case channelStdout:
		c.stdout = message
	case channelStderr:
		_, err = io.Copy(&c.tail, message)
	case channelError:
		var said []byte
		if said, err = io.ReadAll(io.LimitReader(message, answerLimit)); err == nil && len(said) > 0 {
			return c.target.verdict(said, c.tail.String())
		}
	}
	if err != nil {
		return c.ended(err)
	}
	return nil
}

func (c *webSocketConn) ended(err error) error {
	select {
	case <-c.closed:
		return c.target.closed()
	default:
		return c.target.dropped(err, c.tail.String())
	}
}

// Write sends p to the attach's standard input.
func (c *webSocketConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	sent := 0
	for sent < len(p) {
		n := min(len(p)-sent, writeChunk)
		if err := c.send(p[sent : sent+n]); err != nil {
			return sent, c.writeError(err)
		}
		sent += n
	}
	return sent, nil
}

func (c *webSocketConn) send(p []byte) error {
	w, err := c.ws.NextWriter(websocket.BinaryMessage)
	if err != nil {
		return err
	}
	if _, err = w.Write([]byte{channelStdin}); err == nil {
		_, err = w.Write(p)
	}
	if err != nil {
		_ = w.Close()
		return err
	}
	return w.Close()
}

func (c *webSocketConn) writeError(err error) *link.DialError {
	select {
	case <-c.closed:
		return c.target.closed()
	default:
		return c.target.dropped(err, "")
	}
}

// Close cuts the connection. Blocked Reads and Writes return.
func (c *webSocketConn) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.line.close()
	})
	return nil
}
