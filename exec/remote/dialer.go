package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
)

// Dialer opens streams to one worker. It is safe for concurrent use.
type Dialer struct {
	cfg    *rest.Config
	client rest.Interface
	target Target
	proto  *Protocol
	own    atomic.Pointer[Transport] // the only one that got through at an earlier dial; nil: see proto
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
	conn, err := d.race(ctx)
	if err != nil {
		return nil, d.confirm(ctx, err)
	}
	return conn, nil
}

// opener opens one kind of stream. After an error it may leave connections on the line, and its
// caller cuts the line.
type opener func(ctx context.Context, cfg *rest.Config, u *url.URL, l *line) (io.ReadWriteCloser, error)

// attempt calls open with a line that is cut if ctx ends before open returns. Its error is a
// *link.DialError or a *refusedError. reached reports whether anything accepted a connection.
func (d *Dialer) attempt(ctx context.Context, open opener) (conn io.ReadWriteCloser, reached bool, err error) {
	cfg := rest.CopyConfig(d.cfg)
	u, err := d.target.execURL(cfg)
	if err != nil {
		return nil, false, &link.DialError{Kind: link.Unreachable, Err: err}
	}
	l := &line{}
	release := l.watch(ctx)
	conn, err = open(ctx, cfg, u, l)
	if whole := release(); !whole {
		err = fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
	if err == nil {
		return conn, true, nil
	}
	if conn != nil {
		_ = conn.Close()
	}
	l.close()
	var known *link.DialError
	var refused *refusedError
	if errors.As(err, &known) || errors.As(err, &refused) {
		return nil, true, err
	}
	return nil, l.reached(), &link.DialError{Kind: link.Unreachable, Err: fmt.Errorf("connect to API server: %w", err)}
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
