package contract

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/musterhq/muster/exec/link"
)

// Node is a way to a worker whose node may be lost. Set Dialer before the first dial.
type Node struct {
	link.Dialer

	lost atomic.Bool
	open atomic.Value // the current connection
}

// Lose refuses new connections until Return is called. Open connections stay.
func (n *Node) Lose() { n.lost.Store(true) }

// Return accepts connections again.
func (n *Node) Return() { n.lost.Store(false) }

// Cut closes the last connection.
func (n *Node) Cut() { n.open.Load().(io.Closer).Close() }

// Dial implements link.Dialer. If the node is lost, it returns a *link.DialError of kind
// link.Server.
func (n *Node) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if n.lost.Load() {
		return nil, &link.DialError{Kind: link.Server, Err: errors.New("no route to the node")}
	}
	rw, err := n.Dialer.Dial(ctx)
	if err == nil {
		n.open.Store(rw)
	}
	return rw, err
}
