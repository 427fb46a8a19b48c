package shortage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
	// lookAgain limits how long a connection can wait in the queue after accept has failed: the
	// poller reports each connection only once.
	lookAgain = 15 * time.Second
)

// Accept passes every connection of l to take until ctx ends, and then returns nil. The caller
// closes l when ctx ends. After a passing error, Accept tries again, with pauses of 5 ms to 1 s. It
// calls troubled with the first error of a series, and with nil when connections arrive again. Any
// other error ends Accept.
func Accept(ctx context.Context, l net.Listener, take func(net.Conn), troubled func(error)) error {
	pause, inTrouble := firstPause, false
	for {
		c, err := acceptOne(l)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case err == nil:
			if inTrouble {
				troubled(nil)
			}
			pause, inTrouble = firstPause, false
			take(c)
		case errors.Is(err, os.ErrDeadlineExceeded):
		case Passes(err):
			if !inTrouble {
				troubled(err)
			}
			inTrouble = true
			if !sleep(ctx, pause) {
				return nil
			}
			pause = min(2*pause, lastPause)
		default:
			return fmt.Errorf("accept connections: %w", err)
		}
	}
}

// acceptOne waits for one connection, or for lookAgain.
func acceptOne(l net.Listener) (net.Conn, error) {
	if d, ok := l.(interface{ SetDeadline(time.Time) error }); ok {
		if err := d.SetDeadline(time.Now().Add(lookAgain)); err != nil {
			return nil, err
		}
	}
	return l.Accept()
}

// sleep waits for d, and reports whether ctx is still active.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
