package leg

import (
	"time"
)

// carryOut does what s says; way is the direction that met it.
func (p *pair) carryOut(s *Strike, way Way) error {
	if s.Begin != nil {
		s.Begin()
	}
	switch s.Fault {
	case FIN:
		p.finish()
	case RST:
		p.abort()
	case Stall:
		p.mu.Lock()
		p.stalled[way] = true
		p.stalled[1-way] = p.stalled[1-way] || !s.OneWay
		p.mu.Unlock()
	case Throttle:
		p.mu.Lock()
		until := time.Now().Add(throttleTime)
		p.slow = [2]slowness{{until: until}, {until: until}}
		p.mu.Unlock()
	case Bytewise:
		p.mu.Lock()
		p.slow = [2]slowness{{left: bytewise}, {left: bytewise}}
		p.mu.Unlock()
	case Close1000, Forge:
		// The rest of the message that is under way comes first; struck is
		// noted when it has been slipped in.
		p.upMu.Lock()
		defer p.upMu.Unlock()
		p.mu.Lock()
		p.inject, p.injected = s.Fault, s
		p.mu.Unlock()
		p.slipIn()
		return nil
	}
	s.struck.Store(true)
	return nil
}

// abort resets both sides. A unix socket knows no reset; its peer gets
// ECONNRESET when bytes of its own are unread, as those are that met the strike.
func (p *pair) abort() { p.cut() }

// finish ends both directions in order and drops what still comes.
func (p *pair) finish() {
	p.mu.Lock()
	p.drop = true
	p.mu.Unlock()
	for _, c := range p.ends {
		if h, ok := c.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite() // gone already: as good
		}
	}
}

// slipIn sends what is to be injected if a message has just ended, and reports
// whether it did. Called with upMu held.
func (p *pair) slipIn() bool {
	p.mu.Lock()
	what, s := p.inject, p.injected
	p.mu.Unlock()
	if what == "" || !p.messages.boundary() {
		return false
	}
	_, _ = p.ends[Down].Write(p.messages.last(what)) // a peer that has gone needs none
	p.mu.Lock()
	p.inject = ""
	p.mu.Unlock()
	p.finish()
	s.struck.Store(true)
	return true
}
