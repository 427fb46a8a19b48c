package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/suite/figure"
)

// resume measures the time from the cut of a connection to the first byte that the reader gets over the next one. A
// process writes every 5 ms meanwhile, the server is up, and the timers are the product's defaults.
func resume(y *yard, o options, b *book) error {
	cuts := 50 // of each leg, over each transport, FIN and RST in turn
	if o.subset {
		cuts = 8
	}
	var mu sync.Mutex
	var samples []float64
	var errs []error
	var all sync.WaitGroup
	for i := range 2 * legCount { // a leg of the network gets twice the cuts
		at, transports := i/2, transportsOf(i/2)
		all.Go(func() {
			took, err := y.cuts(fmt.Sprintf("c%d", i), transports[i%len(transports)], at, cuts, o.seed+uint64(i))
			mu.Lock()
			defer mu.Unlock()
			samples, errs = append(samples, took...), append(errs, err)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.keep("fault-resume", map[string]any{
		"p50": figure.Series{Unit: "ms", Samples: samples, Reduce: "median"},
		"p99": figure.Series{Unit: "ms", Samples: samples, Reduce: "p99"},
	},
		figure.Row{Name: fmt.Sprintf("resume after a cut, server up, p50 of %d", len(samples)), Log: "p50", Op: "<=", Bar: 300},
		figure.Row{Name: fmt.Sprintf("resume after a cut, server up, p99 of %d", len(samples)), Log: "p99", Op: "<=", Bar: 3000})
}

// cuts cuts one leg n times at random moments and returns the gaps in milliseconds.
func (y *yard) cuts(name, transport string, at, n int, seed uint64) (took []float64, err error) {
	r, err := y.newRig(name, transport, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.through(at)
	var up atomic.Bool // the link is connected again since the cut
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
			return took, fmt.Errorf("cut %d did not happen", i)
		}
	}
	s.Stop(0)
	if _, err := s.Wait(ctx); err != nil {
		return took, err
	}
	return took, t.check()
}

// mortal carries 64 MiB of output over connections that die after 256 KiB each, and 16 MiB of input. Input is
// smaller because a reset loses more of it: it waits in the servers' buffers and must be sent again.
func mortal(y *yard, o options, b *book) error {
	size, input := 64<<20, 16<<20
	if o.subset {
		size, input = 8<<20, 2<<20
	}
	type outcome struct {
		Whole   bool    `json:"sha256_equal"`
		Bytes   int     `json:"bytes"`
		Redials int     `json:"redials"`
		Seconds float64 `json:"seconds"`
	}
	raw := map[string]any{}
	var mu sync.Mutex
	var all sync.WaitGroup
	var errs []error
	for i, c := range []struct {
		name, transport string
		way             leg.Way
		load            load
	}{
		{"stdout", webSocket, leg.Up, load{seed: o.seed, stdin: 1, stdout: size, code: 42}},
		{"stdin", webSocket, leg.Down, load{seed: o.seed, stdin: input, stdout: 1, code: 42}},
		{"stdout_spdy", spdy, leg.Up, load{seed: o.seed, stdin: 1, stdout: size, code: 42}},
		{"stdin_spdy", spdy, leg.Down, load{seed: o.seed, stdin: input, stdout: 1, code: 42}},
		{"stdout_network", podNetwork, leg.Up, load{seed: o.seed, stdin: 1, stdout: size, code: 42}},
		{"stdin_network", podNetwork, leg.Down, load{seed: o.seed, stdin: input, stdout: 1, code: 42}},
	} {
		all.Go(func() {
			began := time.Now()
			res, err := y.dying(fmt.Sprintf("m%d", i), c.transport, c.way, c.load)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			out := outcome{Whole: err == nil && !res.bad(), Bytes: c.load.stdin + c.load.stdout, Redials: res.Redials, Seconds: time.Since(began).Seconds()}
			raw[c.name+"_equal"], raw[c.name] = out.Whole, out
			raw[c.name+"_redials"] = out.Redials
			fmt.Printf("  %s: %+v\n", c.name, out)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var rows []figure.Row
	for _, name := range []string{"stdout", "stdin", "stdout_spdy", "stdin_spdy", "stdout_network", "stdin_network"} {
		bytes := size
		if strings.HasPrefix(name, "stdin") {
			bytes = input
		}
		what := fmt.Sprintf("%d MiB of %s over a link that dies every 256 KiB", bytes>>20, name)
		rows = append(rows, figure.Row{Name: what + ": SHA-256 equal", Log: name + "_equal", Op: "==", Bar: 1},
			figure.Row{Name: what + ": redials", Log: name + "_redials", Op: ">=", Bar: float64(bytes>>18) - 2})
	}
	return b.keep("fault-mortal", raw, rows...)
}

func (y *yard) dying(name, transport string, way leg.Way, what load) (res result, err error) {
	r, err := y.newRig(name, transport, false)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.warm(); err != nil {
		return res, err
	}
	what.starts = r.dir + "/starts"
	mortal := r.legs[clientLeg]
	if r.lan != nil {
		mortal = r.legs[networkLeg]
	}
	mortal.Mortal(way, 256<<10)
	l := r.link(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	err = r.carry(ctx, l, what, &res)
	res.Redials = l.State().Redials
	return res, errors.Join(err, l.stop())
}

// standing records the changes of a link's state.
type standing struct {
	mu     sync.Mutex
	up     bool
	change chan time.Time
}

func newStanding() *standing { return &standing{change: make(chan time.Time, 64)} }

// note is the link's OnState. It sends the time of each change of Connected.
func (s *standing) note(st link.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.Connected != s.up {
		s.up = st.Connected
		select {
		case s.change <- time.Now():
		default:
		}
	}
}

// next returns the time of the next change.
func (s *standing) next(limit time.Duration) (time.Time, error) {
	select {
	case at := <-s.change:
		return at, nil
	case <-time.After(limit):
		return time.Time{}, fmt.Errorf("the link did not change within %s", limit)
	}
}

// timers are the timers of a link that detect silence, and the bar for the figure.
type timers struct {
	name            string
	ping, dead, bar time.Duration
}

// detect measures how long a launcher takes to notice a silent connection: on each leg, idle and under traffic, at
// random phases of the ping.
func detect(y *yard, o options, b *book) error {
	each := 8 // samples for each leg
	sets := []timers{{"defaults", 0, 0, 15 * time.Second}, {"short timers", 1500 * time.Millisecond, 4 * time.Second, 5 * time.Second}}
	if o.subset {
		each = 2
	}
	series := map[string]figure.Series{}
	var mu sync.Mutex
	var all sync.WaitGroup
	var errs []error
	for s, set := range sets {
		for l := range legCount {
			for i := range each {
				name := fmt.Sprintf("d%d-%d-%d", s, l, i)
				transports := transportsOf(l)
				phase := rand.New(rand.NewPCG(o.seed, uint64(s*1000+l*100+i))).Float64()
				all.Go(func() {
					took, err := y.silence(name, transports[i/2%len(transports)], l, i%2 == 0, set, phase)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						errs = append(errs, fmt.Errorf("%s: %w", name, err))
						return
					}
					one := series[set.name]
					one.Unit, one.Reduce = "s", "max"
					one.Samples = append(one.Samples, took.Seconds())
					series[set.name] = one
				})
			}
		}
	}
	all.Wait()
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	var rows []figure.Row
	for _, set := range sets {
		rows = append(rows, figure.Row{Name: fmt.Sprintf("silent loss noticed, %s, slowest of %d", set.name, len(series[set.name].Samples)),
			Log: set.name, Op: "<=", Bar: set.bar.Seconds()})
	}
	return b.keep("fault-detect", series, rows...)
}

// silence stalls one connection and returns how long the launcher took to give it up.
func (y *yard) silence(name, transport string, at int, idle bool, set timers, phase float64) (took time.Duration, err error) {
	r, err := y.newRig(name, transport, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.through(at)
	st := newStanding()
	l := r.link(func(c *link.Config) { c.OnState, c.PingEvery, c.DeadAfter = st.note, set.ping, set.dead })
	defer func() { err = errors.Join(err, l.stop()) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.proven(ctx); err != nil {
		return 0, err
	}
	if !idle {
		stop, err := y.tick(ctx, l)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	time.Sleep(time.Duration(phase * float64(5*time.Second)))
	for len(st.change) > 0 {
		<-st.change
	}
	began := time.Now()
	if !r.legs[at].Stall() {
		return 0, errors.New("no connection to stall")
	}
	ended, err := st.next(30 * time.Second)
	if err != nil {
		return 0, err
	}
	return ended.Sub(began), l.proven(ctx)
}

// tick runs a process that writes a number every 5 ms. stop ends it and checks that every number arrived, once and
// in order.
func (y *yard) tick(ctx context.Context, l *line) (stop func() error, err error) {
	t := &ticks{}
	s, err := l.Open(ctx, "", wire.Spec{Argv: []string{y.child, "tick"}}, link.Streams{Stdout: t})
	return func() error {
		s.Stop(0)
		if _, err := s.Wait(ctx); err != nil {
			return fmt.Errorf("stop the ticks: %w", err)
		}
		return t.check()
	}, err
}
