package remote

import (
	"context"
	"net"
	"sync"
	"time"
)

// line holds the TCP connections that one dial has opened, so that they can be cut from outside at
// any stage. It closes these and not the TLS connection on top: a TLS close first writes, and waits
// 5 s for a peer that has stopped reading.
type line struct {
	mu    sync.Mutex
	conns []net.Conn
	any   bool // a connection was opened
	cut   bool
}

// connectTimeout allows one lost SYN, which is sent again after 1 s, then after 2 s and 4 s more.
// If packets are dropped for a while, a new connection every other second notices the recovery
// sooner than the next SYN of an old connection.
const connectTimeout = 2 * time.Second

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	l.conns, l.any = append(l.conns, conn), true
	return conn, nil
}

func (l *line) reached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.any
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

// watch cuts the line when ctx ends. The returned function ends the watch, and reports whether the
// line is still whole.
func (l *line) watch(ctx context.Context) (release func() bool) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		l.close()
	})
	return func() bool {
		if stop() {
			return true
		}
		<-done
		return false
	}
}
