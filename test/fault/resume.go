package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/suite/figure"
)

// resume measures, while a process writes every 5 ms and the server is up, from
// the cut of a connection to the first byte that its reader gets over the next
// one. Timers are the product's own.
func resume(y *yard, o options, b *book) error {
	cuts := 50 // of each leg, over each transport, FIN and RST in turn
	if o.subset {
		cuts = 8
	}
	var mu sync.Mutex
	var samples []float64
	var errs []error
	var all sync.WaitGroup
	for i := range 2 * legCount {
		all.Go(func() {
			took, err := y.cuts(fmt.Sprintf("c%d", i), []string{webSocket, spdy}[i%2], i/2, cuts, o.seed+uint64(i))
			mu.Lock()
			defer mu.Unlock()
			samples, errs = append(samples, took...), append(errs, err)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	log, err := b.raw("fault-resume", map[string]any{
		"p50": figure.Series{Unit: "ms", Samples: samples, Reduce: "median"},
		"p99": figure.Series{Unit: "ms", Samples: samples, Reduce: "p99"},
	})
	if err != nil {
		return err
	}
	return errors.Join(
		b.row(fmt.Sprintf("resume after a cut, server up, p50 of %d", len(samples)), log+"#p50", "<=", 300),
		b.row(fmt.Sprintf("resume after a cut, server up, p99 of %d", len(samples)), log+"#p99", "<=", 3000),
	)
}

// cuts cuts one leg n times at random moments and returns the gaps in milliseconds.
func (y *yard) cuts(name, transport string, at, n int, seed uint64) (took []float64, err error) {
	r, err := y.newRig(name, transport, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var up atomic.Bool // the link has come back since the cut
	back := make(chan time.Time, 1)
	t := &ticks{came: func() {
		if up.CompareAndSwap(true, false) {
			back <- time.Now()
		}
	}}
	var cut atomic.Bool
	l := r.link(func(c *link.Config) {
		c.OnState = func(st link.State) {
			if st.Connected && cut.CompareAndSwap(true, false) {
				up.Store(true)
			}
		}
	})
	defer func() { err = errors.Join(err, l.stop()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := l.proven(ctx); err != nil {
		return nil, err
	}
	s, err := l.Open(ctx, "", wire.Spec{Argv: []string{y.child, "tick"}}, link.Streams{Stdout: t})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range n {
		time.Sleep(time.Duration(300+rng.IntN(200)) * time.Millisecond)
		struck := make(chan time.Time, 1)
		r.legs[at].Arm(&leg.Strike{Fault: []leg.Fault{leg.FIN, leg.RST}[i%2], Way: leg.Up, After: rng.IntN(64),
			Begin: func() { cut.Store(true); struck <- time.Now() }})
		select {
		case began := <-struck:
			took = append(took, float64((<-back).Sub(began).Microseconds())/1000)
		case <-time.After(10 * time.Second):
			return took, fmt.Errorf("cut %d did not come", i)
		}
	}
	s.Stop(0)
	if _, err := s.Wait(ctx); err != nil {
		return took, err
	}
	return took, t.check()
}
