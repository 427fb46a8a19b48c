package fakekube

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
)

// Refuse answers upgrades to protocol (WebSocket or SPDY) with a plain text
// body, as a server or proxy does that does not know it. Code 0 ends that.
//
// Tests that cut dials, or whose launchers do, refuse SPDY: the library behind it waits
// for ever for a stream whose connection ends before the stream has been answered.
func (e *Exec) Refuse(protocol string, code int, body string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if code == 0 {
		delete(e.refused, protocol)
		return
	}
	e.refused[protocol] = refusal{code, body}
}

// Dials tells how many upgrades were asked for, by protocol.
func (e *Exec) Dials() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.dials)
}

// Open tells how many streams are open.
func (e *Exec) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.conns)
}

// Cut ends the TCP connection of every open stream, with a reset or a FIN, and
// returns how many there were.
func (e *Exec) Cut(reset bool) int {
	e.mu.Lock()
	conns := make([]net.Conn, 0, len(e.conns))
	for c := range e.conns {
		conns = append(conns, c)
	}
	e.mu.Unlock()
	for _, c := range conns {
		if t, ok := rawTCP(c); ok && reset {
			_ = t.SetLinger(0)
		}
		_ = c.Close()
	}
	return len(conns)
}

func rawTCP(c net.Conn) (*net.TCPConn, bool) {
	for {
		switch inner := c.(type) {
		case *hijackedConn:
			c = inner.Conn
		case *trackedConn:
			c = inner.Conn
		case interface{ NetConn() net.Conn }:
			c = inner.NetConn()
		default:
			t, ok := c.(*net.TCPConn)
			return t, ok
		}
	}
}

// Stall stops (true) or restarts (false) the bytes of every stream in both
// directions while the connections stay open.
func (e *Exec) Stall(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.flowing:
		if on {
			e.flowing = make(chan struct{})
		}
	default:
		if !on {
			close(e.flowing)
		}
	}
}

// Forge ends every open stream with a status of success, as an API server does
// that has lost the kubelet. Commands go on.
func (e *Exec) Forge() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.forged)
	e.forged = make(chan struct{})
}

// await returns when bytes flow or the test has ended.
func (e *Exec) await() {
	e.mu.Lock()
	flowing := e.flowing
	e.mu.Unlock()
	select {
	case <-flowing:
	case <-e.ctx.Done():
	}
}

type valveReader struct {
	e *Exec
	r io.Reader
}

func (v valveReader) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.e.await()
	return n, err
}

type valveWriter struct {
	e *Exec
	w io.Writer
}

func (v valveWriter) Write(p []byte) (int, error) {
	v.e.await()
	return v.w.Write(p)
}

// hijacked remembers the connection that a protocol switch takes over.
type hijacked struct {
	http.ResponseWriter
	e *Exec
}

func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := &hijackedConn{conn, h.e}
	h.e.mu.Lock()
	h.e.conns[c] = struct{}{}
	h.e.mu.Unlock()
	return c, buf, nil
}

type hijackedConn struct {
	net.Conn
	e *Exec
}

// Close never fails: spdystream keeps a goroutine for a second after a
// connection that was closed twice.
func (c *hijackedConn) Close() error {
	c.e.mu.Lock()
	delete(c.e.conns, c)
	c.e.mu.Unlock()
	_ = c.Conn.Close()
	return nil
}
