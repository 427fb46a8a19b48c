package remote

import (
	"crypto/tls"
	"sync"
)

// Transport is a streaming protocol of pods/exec.
type Transport int

// The transports. SPDY is tried first: see doc.go.
const (
	SPDY Transport = iota
	WebSocket
)

// String returns the name of the transport for messages.
func (t Transport) String() string { return [...]string{"SPDY", "WebSocket"}[t] }

func (t Transport) other() Transport { return WebSocket - t }

// Protocol remembers, for all dialers that share it, which transport reaches the workers. It also
// keeps the TLS sessions. The zero value is ready to use.
type Protocol struct {
	// Changed, if set, is called when later dials begin with another transport, because the first
	// one does not get through. why is the error of the first one. Set it before the first dial.
	Changed func(to Transport, why error)

	only     bool
	once     sync.Once
	sessions tls.ClientSessionCache

	mu     sync.Mutex
	memory memory
}

// Only returns a Protocol whose dialers never use another transport, for measurements.
func Only(t Transport) *Protocol { return &Protocol{only: true, memory: memory{first: t}} }

// String returns the name of the transport that the next dial tries first.
func (p *Protocol) String() string { return p.recall().first.String() }

func (p *Protocol) recall() memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.memory
}

// note records which transport has opened a stream. why is the error of the transport that was
// tried before it, if any.
func (p *Protocol) note(o outcome, why error) {
	p.mu.Lock()
	before := p.memory.first
	p.memory = p.memory.after(o)
	now := p.memory.first
	p.mu.Unlock()
	if now != before && p.Changed != nil {
		p.Changed(now, why)
	}
}

// memory is what the dialers of a Protocol know about the transports.
type memory struct {
	first   Transport // what the next dial tries first
	opened  int       // streams that it has opened
	against int       // dials in a row in which only the other transport got through
}

// outcome is the result of a dial that has opened a stream.
type outcome struct {
	tried   Transport // first
	opened  Transport
	refused bool // something said that it does not support the first
}

// proofs is how many dials in a row must get through by the other transport only, before later dials
// begin with it. It applies once the first transport has worked. An API server that restarts behind
// a load balancer cuts single dials, too, and the next dial succeeds by either transport.
const proofs = 3

// after returns the memory after a dial. A refusal is a clear verdict about a transport. If the first
// transport has never worked, one dial is enough.
func (m memory) after(o outcome) memory {
	switch {
	case o.tried != m.first: // the dial began before a change
		return m
	case o.opened == m.first:
		return memory{first: m.first, opened: m.opened + 1}
	case o.refused, m.opened == 0, m.against+1 >= proofs:
		return memory{first: o.opened, opened: 1}
	}
	m.against++
	return m
}
