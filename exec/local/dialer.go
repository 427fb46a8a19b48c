// Package local reaches a worker on this machine through its unix socket, for
// `agent run --fake`: the same link, frames and sessions, without Kubernetes.
package local

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/musterhq/muster/exec/link"
)

// Dialer connects to the socket at Path.
type Dialer struct{ Path string }

// Dial opens one stream. The error is a *link.DialError.
func (d Dialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	var nd net.Dialer
	c, err := nd.DialContext(ctx, "unix", d.Path)
	if err != nil {
		// Server, not Unreachable: one worker that does not listen says nothing
		// about the others, whose gate Unreachable would close.
		return nil, &link.DialError{Kind: link.Server, Err: fmt.Errorf("connect to worker: %w", err)}
	}
	return c, nil
}
