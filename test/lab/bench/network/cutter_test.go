//go:build speed

package network

import (
	"net"
	"sync"
)

// cutter is a listener that can close the connections that it has accepted.
type cutter struct {
	net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Accept implements net.Listener.
func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[conn] = true
	return &cuttable{Conn: conn, of: c}, nil
}

// cut closes all connections.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.Close()
	}
}

type cuttable struct {
	net.Conn
	of *cutter
}

// Close implements net.Conn.
func (c *cuttable) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.conns, c.Conn)
	return c.Conn.Close()
}
