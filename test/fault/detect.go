package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/suite/figure"
)

// standing follows a link's state.
type standing struct {
	mu     sync.Mutex
	up     bool
	change chan time.Time
}

func newStanding() *standing { return &standing{change: make(chan time.Time, 64)} }

// note is the link's OnState: it sends the time of each change of Connected.
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

// next is the time of the next change.
func (s *standing) next(limit time.Duration) (time.Time, error) {
	select {
	case at := <-s.change:
		return at, nil
	case <-time.After(limit):
		return time.Time{}, fmt.Errorf("no change of the link within %s", limit)
	}
}

// timers are a link's for silence.
type timers struct {
	name            string
	ping, dead, bar time.Duration
}

// detect measures how long a launcher takes to notice that a connection has
// gone silent: on each leg, idle and under traffic, at random phases of the ping.
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
				phase := rand.New(rand.NewPCG(o.seed, uint64(s*1000+l*100+i))).Float64()
				all.Go(func() {
					took, err := y.silence(name, []string{webSocket, spdy}[i/2%2], l, i%2 == 0, set, phase)
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
	log, err := b.raw("fault-detect", series)
	if err != nil {
		return err
	}
	for _, set := range sets {
		err = errors.Join(err, b.row(fmt.Sprintf("silent loss noticed, %s, slowest of %d", set.name, len(series[set.name].Samples)),
			log+"#"+set.name, "<=", set.bar.Seconds()))
	}
	return err
}

// silence stalls one connection and returns when the launcher gave it up.
func (y *yard) silence(name, transport string, at int, idle bool, set timers, phase float64) (took time.Duration, err error) {
	r, err := y.newRig(name, transport, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
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

// tick runs a process that writes a line every 5 ms; stop ends it and checks
// that every line came, once and in order.
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
