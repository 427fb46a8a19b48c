// Package local reaches a worker on this machine through its unix socket, for `agent run --fake`.
// It has the same link, frames and sessions as package remote, without Kubernetes.
package local

import (
	"context"
	"fmt"
	"io"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/rundir"
)

// Dialer connects to the socket at Path. The directory of the socket must be private, and the
// server must run as the same user.
type Dialer struct{ Path string }

// Dial opens one stream. The error is a *link.DialError.
func (d Dialer) Dial(context.Context) (io.ReadWriteCloser, error) {
	// The Kind is Server and not Unreachable: one worker that does not listen says nothing about
	// the others, and Unreachable would close their gate.
	s, err := rundir.Reach(d.Path)
	if err != nil {
		return nil, &link.DialError{Kind: link.Server, Err: fmt.Errorf("connect to worker: %w", err)}
	}
	defer s.Close()
	c, err := s.Dial()
	if err != nil {
		return nil, &link.DialError{Kind: link.Server, Err: fmt.Errorf("connect to worker: %w", err)}
	}
	return c, nil
}
