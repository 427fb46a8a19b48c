package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
)

// Protocol remembers, for all dialers that share it, whether SPDY has reached the API server or
// WebSocket is needed. It also keeps the TLS sessions. The zero value is ready to use.
type Protocol struct {
	proved    atomic.Bool // a SPDY stream has been opened
	webSocket atomic.Bool
	once      sync.Once
	sessions  tls.ClientSessionCache
}

// String returns the name of the protocol that the next dial tries first.
func (p *Protocol) String() string {
	if p.webSocket.Load() {
		return "WebSocket"
	}
	return "SPDY"
}

// Dialer opens streams to one worker. It is safe for concurrent use.
type Dialer struct {
	cfg    *rest.Config
	client rest.Interface
	target Target
	proto  *Protocol
}

// New returns a Dialer. Each dial copies cfg and never changes it. With a client for core/v1, the
// dialer checks a 404 by looking at the pod: the Kind is Gone if the pod does not exist or has
// another UID. Without a client (nil), a 404 stays NotFound.
func New(cfg *rest.Config, client rest.Interface, t Target, proto *Protocol) *Dialer {
	return &Dialer{cfg: cfg, client: client, target: t, proto: proto}
}

// Dial runs the agent's attach in the worker and returns its standard input and output as one
// stream. It returns when the server has upgraded the connection. If the container could not start
// the agent, the first Read returns that error. Every error is a *link.DialError.
func (d *Dialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	byWebSocket := d.proto.webSocket.Load()
	unproved := !byWebSocket && !d.proto.proved.Load()
	first, second := d.spdy, d.webSocket
	if byWebSocket {
		first, second = second, first
	}
	conn, err := d.try(ctx, first, unproved)
	if err == nil && !byWebSocket {
		d.proto.proved.Store(true)
	}
	var refused, again *refusedError
	hindered := !errors.As(err, &refused) && err != nil && unproved && mayPass(ctx, err)
	switch {
	case hindered && d.proto.proved.Load(): // by another dial meanwhile, so this one was only slow
		conn, err = d.attempt(ctx, first)
	case hindered || refused != nil:
		why := err
		conn, err = d.attempt(ctx, second)
		switch {
		case err == nil && (hindered || refused.lasting):
			d.proto.webSocket.Store(!byWebSocket)
		case errors.As(err, &again) && hindered:
			err = why
		case errors.As(err, &again):
			err = d.target.refusedTwice(refused, again)
		}
	}
	if err != nil {
		return nil, d.confirm(ctx, err)
	}
	return conn, nil
}

// provingTimeout is half of the usual time for a dial, so that there is time for WebSocket.
const provingTimeout = 5 * time.Second

func (d *Dialer) try(ctx context.Context, open opener, unproved bool) (io.ReadWriteCloser, error) {
	if !unproved {
		return d.attempt(ctx, open)
	}
	ctx, cancel := context.WithTimeout(ctx, provingTimeout)
	defer cancel()
	return d.attempt(ctx, open)
}

// mayPass reports whether a WebSocket may work where the first SPDY stream did not: something on
// the way blocks SPDY, or the permission for SPDY is missing.
func mayPass(ctx context.Context, err error) bool {
	var failed *link.DialError
	return ctx.Err() == nil && errors.As(err, &failed) && (failed.Kind == link.Unreachable || failed.Kind == link.Forbidden)
}

// opener opens one kind of stream. After an error it may leave connections on the line, and its
// caller cuts the line.
type opener func(ctx context.Context, cfg *rest.Config, u *url.URL, l *line) (io.ReadWriteCloser, error)

// attempt calls open with a line that is cut if ctx ends before open returns. Its error is a
// *link.DialError or a *refusedError.
func (d *Dialer) attempt(ctx context.Context, open opener) (io.ReadWriteCloser, error) {
	cfg := rest.CopyConfig(d.cfg)
	u, err := d.target.execURL(cfg)
	if err != nil {
		return nil, &link.DialError{Kind: link.Unreachable, Err: err}
	}
	l := &line{}
	release := l.watch(ctx)
	conn, err := open(ctx, cfg, u, l)
	if whole := release(); !whole {
		err = fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
	if err == nil {
		return conn, nil
	}
	if conn != nil {
		_ = conn.Close()
	}
	l.close()
	var known *link.DialError
	var refused *refusedError
	if errors.As(err, &known) || errors.As(err, &refused) {
		return nil, err
	}
	return nil, &link.DialError{Kind: link.Unreachable, Err: fmt.Errorf("connect to API server: %w", err)}
}

// request sends the exec request through rt with the credentials of cfg. It returns nil if the
// server has switched protocols.
func (d *Dialer) request(ctx context.Context, cfg *rest.Config, method string, u *url.URL, header http.Header, rt http.RoundTripper) error {
	rt, err := rest.HTTPWrappersForConfig(cfg, rt)
	if err != nil {
		return fmt.Errorf("read credentials: %w", err)
	}
	// Only the line ends a request: with the deadline of the context as well, two timers would race
	// for the error.
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, u.String(), nil)
	if err != nil {
		return fmt.Errorf("read API server address: %w", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	return d.target.answer(resp)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
