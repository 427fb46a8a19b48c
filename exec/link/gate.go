package link

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/time/rate"
)

const (
	// dialsAtOnce is how many unanswered dials an open gate lets through: the slowest of launcher,
	// API server and nodes sets the pace.
	dialsAtOnce = 64
	slowDial    = time.Second // after which a dial no longer counts
	// Redials are rate-limited, per second. When an API server drops every link, all jobs redial at
	// once. A server that has just come back should get these redials over several seconds.
	redialsPerSecond = 200
	redialBurst      = 40
)

// Gate controls dials to one API server. A dial that cannot connect closes the gate. Then one
// caller at a time probes, every 250 ms to 1 s, until a probe connects and opens the gate for all.
type Gate struct {
	dials   Turns
	redials *rate.Limiter

	mu      sync.Mutex
	closed  bool
	probing bool
	backoff *backoff.ExponentialBackOff
	next    time.Time
	change  chan struct{}
}

// NewGate returns an open gate.
func NewGate() *Gate {
	return &Gate{
		dials:   NewTurns(dialsAtOnce),
		redials: rate.NewLimiter(redialsPerSecond, redialBurst),
		backoff: probeBackoff(),
		change:  make(chan struct{}),
	}
}

func probeBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = 250*time.Millisecond, time.Second, 1.5
	b.RandomizationFactor, b.MaxElapsedTime = 0.1, 0
	return b
}

// Pass is the right to dial once. It must be returned by one of its methods. The zero Pass belongs
// to no gate.
type Pass struct {
	gate  *Gate
	probe bool
	leave func() // the dial no longer counts; nil for a probe
}

// Enter waits until the caller may dial. again says that the caller had a connection before. The
// error wraps that of ctx.
func (g *Gate) Enter(ctx context.Context, again bool) (Pass, error) {
	for {
		g.mu.Lock()
		if !g.closed {
			g.mu.Unlock()
			if again {
				if err := g.redials.Wait(ctx); err != nil {
					return Pass{}, fmt.Errorf("wait to dial: %w", err)
				}
			}
			leave, err := g.dials.take(ctx, nil)
			if err != nil {
				return Pass{}, fmt.Errorf("wait to dial: %w", err)
			}
			if g.isClosed() {
				leave() // the gate was closed meanwhile
				continue
			}
			return Pass{gate: g, leave: leave}, nil
		}
		wait := time.Until(g.next)
		if !g.probing && wait <= 0 {
			g.probing = true
			g.mu.Unlock()
			return Pass{gate: g, probe: true}, nil
		}
		change := g.change
		if g.probing {
			wait = time.Hour
		}
		g.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-change:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Pass{}, fmt.Errorf("wait to dial: %w", ctx.Err())
		}
		timer.Stop()
	}
}

func (g *Gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Wait blocks while the gate is closed, and does not probe. The pod watch waits here before it
// lists again. The error is ctx's.
func (g *Gate) Wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		closed, change := g.closed, g.change
		g.mu.Unlock()
		if !closed {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Done returns the pass. reached means that the server could be reached, whatever it answered.
func (p Pass) Done(reached bool) {
	g := p.gate
	if g == nil {
		return
	}
	p.left()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.probe:
		g.probing = false
		g.closed = !reached
		if !reached {
			g.next = time.Now().Add(g.backoff.NextBackOff())
		}
	case reached || g.closed:
		return
	default:
		g.closed = true
		g.backoff.Reset()
		g.next = time.Now().Add(g.backoff.NextBackOff())
	}
	g.changed()
}

// Withdraw returns the pass after a canceled dial, which says nothing about the server. Another
// caller may probe.
func (p Pass) Withdraw() {
	p.left()
	if p.probe {
		p.gate.mu.Lock()
		defer p.gate.mu.Unlock()
		p.gate.probing = false
		p.gate.changed()
	}
}

func (p Pass) left() {
	if p.leave != nil {
		p.leave()
	}
}

// changed wakes all waiting callers. The caller holds mu.
func (g *Gate) changed() {
	close(g.change)
	g.change = make(chan struct{})
}
