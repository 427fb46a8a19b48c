package relay

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDialOverATrunkThatTakesNoBytes checks that a dial ends in time, so that its caller can try another way.
func TestDialOverATrunkThatTakesNoBytes(t *testing.T) {
	near, far := net.Pipe() // nobody reads
	defer far.Close()
	trunk, err := NewTrunk(near)
	require.NoError(t, err)
	defer trunk.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = trunk.Dial(ctx, "worker")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
}

// deaf is a connection that is not read any more after the next bytes, once it is told so.
type deaf struct {
	net.Conn
	told, stuck, release chan struct{}
}

func (d deaf) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	select {
	case <-d.told:
		close(d.stuck)
		<-d.release
		return 0, io.ErrClosedPipe
	default:
		return n, err
	}
}

// TestCloseOverATrunkThatTakesNoBytes checks that the end of a lane does not wait for its trunk. The
// supervision that gives up workers behind a dead relay has others to look after.
func TestCloseOverATrunkThatTakesNoBytes(t *testing.T) {
	address := worker(t, echo)
	near, pipe := net.Pipe()
	far := deaf{pipe, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, dialTCP) }()
	trunk, err := NewTrunk(near)
	require.NoError(t, err)
	lane, err := trunk.Dial(t.Context(), address)
	require.NoError(t, err)
	close(far.told)
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = lane.Write([]byte("x"))
	}()
	<-far.stuck
	began := time.Now()
	require.NoError(t, lane.Close())
	require.Less(t, time.Since(began), 5*time.Second)
	close(far.release)
	trunk.Close()
	<-wrote
	require.NoError(t, <-served)
}
