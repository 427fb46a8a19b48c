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
	// dialsAtOnce is how many dials an open gate lets through that have no answer yet:
	// whoever is the slowest on the way, launcher, API server or nodes, sets the pace. A
	// dial that takes longer than slowDial counts no more, so that workers that do not
	// answer hold up nobody.
	dialsAtOnce = 64
	slowDial    = time.Second
	// Redials are fewer, in each second: where all links are cut at once, those of other
	// jobs are too, and a server that has just come back meets them in some seconds.
	redialsPerSecond = 200
	redialBurst      = 40
)

// Gate lets dials to one API server through. A dial that cannot connect closes
// it; then one caller at a time knocks, every 250 ms to 1 s, until one gets
// through and opens it for all.
type Gate struct {
	dials   chan struct{} // those that count
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
		dials:   make(chan struct{}, dialsAtOnce),
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

// Pass is the right to dial once; it must be given back by one of its methods.
// The zero Pass belongs to no gate.
type Pass struct {
	gate  *Gate
	probe bool
	leave func() // the dial does not count any more; nil for a probe
}

// Enter waits until the caller may dial; again says that it had a connection before.
// The error is ctx's.
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
			leave, err := g.count(ctx)
			if err != nil {
				return Pass{}, fmt.Errorf("wait to dial: %w", err)
			}
			if g.isClosed() {
				leave() // it has closed meanwhile
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

// count waits until the dial is one of dialsAtOnce, which it is until leave or for
// slowDial.
func (g *Gate) count(ctx context.Context) (leave func(), err error) {
	select {
	case g.dials <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var once sync.Once
	free := func() { once.Do(func() { <-g.dials }) }
	timer := time.AfterFunc(slowDial, free)
	return func() {
		timer.Stop()
		free()
	}, nil
}

func (g *Gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Wait blocks while the gate is closed; it does not knock. The pod watch waits
// here before it lists again. The error is ctx's.
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

// Done tells whether the server could be reached, whatever it answered.
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

// Withdraw gives the pass back after a dial that was broken off and tells
// nothing; another caller may knock.
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

// changed wakes all who wait. Called with mu held.
func (g *Gate) changed() {
	close(g.change)
	g.change = make(chan struct{})
}
