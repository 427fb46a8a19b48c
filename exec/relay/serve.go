package relay

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	// MaxLanes is how many lanes a trunk has at most. A relay has a branch of at most 64 workers, each
	// with a link and perhaps a trunk, and those of a sibling that died.
	MaxLanes = 512
	// openTime is how long a lane may take until it has said its address, and to dial it.
	openTime = 10 * time.Second
	// chunk is the buffer of each direction of a lane.
	chunk = 16 << 10
)

// Serve carries the lanes of one trunk until it ends or ctx does, and closes it. dial connects to
// the address of a lane. Serve returns when nothing of the trunk is left: nil, or ctx's error.
func Serve(ctx context.Context, conn io.ReadWriteCloser, dial func(ctx context.Context, address string) (net.Conn, error)) error {
	life := newLife(conn)
	streams, err := yamux.Server(life, settings())
	if err != nil {
		conn.Close()
		return fmt.Errorf("serve a trunk: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	defer lanes.Wait()
	defer stop() // before the wait
	end := func() {
		life.end()
		streams.Close()
	}
	defer context.AfterFunc(ctx, end)()
	defer end()
	lanes.Go(func() { attend(streams, life) })
	for {
		lane, err := streams.AcceptStream()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && lost(err):
			return nil
		case err != nil:
			return fmt.Errorf("serve a trunk: %w", err)
		}
		tooMany := streams.NumStreams() > MaxLanes
		lanes.Go(func() {
			defer lane.Close()
			if life.begin(lane) {
				defer life.leave(lane)
				carry(ctx, life, lane, tooMany, dial)
			}
		})
	}
}

// carry connects a lane, and copies until either end is closed.
func carry(ctx context.Context, life *life, lane *yamux.Stream, tooMany bool, dial func(context.Context, string) (net.Conn, error)) {
	conn, err := connect(ctx, life, lane, tooMany, dial)
	if err != nil {
		return // the launcher has been told, or is gone
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var up sync.WaitGroup
	up.Go(func() {
		copyAll(lane, conn)
		lane.Close()
	})
	copyAll(conn, lane)
	conn.Close()
	up.Wait()
}

// connect reads the address of a lane, dials it, and answers.
func connect(ctx context.Context, life *life, lane *yamux.Stream, tooMany bool, dial func(context.Context, string) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	life.limit(lane, time.Now().Add(openTime))
	address, err := readText(lane, maxAddress)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	if tooMany {
		err = fmt.Errorf("more than %d lanes", MaxLanes)
	} else {
		conn, err = dial(ctx, address)
	}
	life.limit(lane, time.Time{})
	message := ""
	if err != nil {
		message = err.Error()
		message = message[:min(len(message), maxMessage)]
	}
	if told := writeText(lane, message); err == nil && told != nil {
		conn.Close()
		return nil, told
	}
	return conn, err
}

// copyAll copies until either side fails: what was not delivered is sent again by the link.
func copyAll(to io.Writer, from io.Reader) {
	_, _ = io.CopyBuffer(writer{to}, reader{from}, make([]byte, chunk))
}

// reader and writer hide other methods, so that the copy uses its own small buffer.
type (
	reader struct{ io.Reader }
	writer struct{ io.Writer }
)
