//go:build soak

package soak

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// road is a TCP proxy in front of the API server, in the place of a load
// balancer.
type road struct {
	address string
	to      string
	// patience limits the time of one write towards the launcher, as the API server does
	// (60 s in its stream translator). A reader that pauses longer loses
	// its connection. 0: no limit.
	patience time.Duration

	killed atomic.Int32 // connections that ran out of patience

	mu    sync.Mutex
	live  map[*lane]bool
	conns []net.Conn
	over  bool
	wg    sync.WaitGroup
}

// lane is a connection; dark is closed when its packets start to vanish.
type lane struct{ dark chan struct{} }

func newRoad(t *testing.T, to string, patience time.Duration) *road {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	r := &road{address: ln.Addr().String(), to: to, patience: patience, live: map[*lane]bool{}}
	r.wg.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.carry(near) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		r.mu.Lock()
		r.over = true
		for _, c := range r.conns {
			c.Close()
		}
		r.mu.Unlock()
		r.darken() // ends the lanes that wait
		r.wg.Wait()
	})
	return r
}

// darken makes all open connections vanish: neither bytes nor the end of a connection
// pass any more, and both sides keep their sockets. It returns
// the number of these connections.
func (r *road) darken() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.live)
	for l := range r.live {
		close(l.dark)
		delete(r.live, l)
	}
	return n
}

func (r *road) carry(near net.Conn) {
	far, err := net.Dial("tcp4", r.to)
	if err != nil {
		near.Close()
		return
	}
	l := &lane{dark: make(chan struct{})}
	r.mu.Lock()
	r.conns = append(r.conns, near, far)
	r.live[l] = true
	if r.over {
		near.Close()
		far.Close()
	}
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.copy(l, far, near, 0) })
	both.Go(func() { r.copy(l, near, far, r.patience) })
	both.Wait()
	select {
	case <-l.dark: // the sockets stay until the end of the test
	default:
		near.Close()
		far.Close()
		r.mu.Lock()
		delete(r.live, l)
		r.mu.Unlock()
	}
}

// copy copies bytes in one direction until the connection ends or goes dark. Like a
// network, it reads nothing more from a dark connection's sockets.
func (r *road) copy(l *lane, to, from net.Conn, patience time.Duration) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-l.dark:
			return
		default:
		}
		if n > 0 {
			if patience > 0 {
				_ = to.SetWriteDeadline(time.Now().Add(patience))
			}
			if _, werr := to.Write(buf[:n]); werr != nil {
				if e := net.Error(nil); errors.As(werr, &e) && e.Timeout() {
					r.killed.Add(1)
				}
				err = werr
			}
		}
		if err != nil {
			// If one side ends, both end: TLS does not use half-open connections.
			to.Close()
			from.Close()
			return
		}
	}
}
