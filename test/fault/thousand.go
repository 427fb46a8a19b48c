package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/suite/figure"
)

// mostDialsASecond is what a gate of exec/link lets through of redials, 200 a second
// after a burst of 40, and a quarter more for dials that a busy machine bunches.
// Without a gate all links would come at once.
const mostDialsASecond = 300

// many is a thousand links of one launcher, over one leg, to as many PID 1s.
type many struct {
	farm  *farm
	leg   *leg.Leg
	gate  *link.Gate
	lines []*line
	echo  []*echo
}

// thousand cuts all links at once and measures until the last one has carried
// bytes both ways again.
func thousand(y *yard, o options, b *book) (err error) {
	n := 1000
	if o.subset {
		n = 100
	}
	m := &many{gate: link.NewGate()}
	defer func() { err = errors.Join(err, m.close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	began := time.Now()
	if err := m.open(ctx, y, n); err != nil {
		return err
	}
	fmt.Printf("  %d links and sessions up in %s\n", n, time.Since(began).Round(100*time.Millisecond))
	m.leg.Accepted()
	var took, rates []float64
	for _, f := range []leg.Fault{leg.RST, leg.FIN} {
		slowest, err := m.cutAll(ctx, f)
		if err != nil {
			return err
		}
		took = append(took, slowest.Seconds())
		rates = append(rates, float64(busiest(m.leg.Accepted())))
	}
	log, err := b.raw("fault-thousand", map[string]any{
		"resumed": figure.Series{Unit: "s", Samples: took, Reduce: "max"},
		"dials":   figure.Series{Unit: "dials", Samples: rates, Reduce: "max"},
	})
	if err != nil {
		return err
	}
	return errors.Join(
		b.row(fmt.Sprintf("%d links cut at once: all carry bytes again", n), log+"#resumed", "<=", 10),
		b.row(fmt.Sprintf("%d links cut at once: most dials in a second", n), log+"#dials", "<=", mostDialsASecond),
	)
}

// open links n workers and starts a session on each.
func (m *many) open(ctx context.Context, y *yard, n int) (err error) {
	if m.farm, err = y.startFarm(n); err != nil {
		return err
	}
	if m.leg, err = leg.Listen("tcp4", "127.0.0.1:0", "tcp4", m.farm.addr, nil); err != nil {
		return err
	}
	cfg := &rest.Config{Host: "http://" + m.leg.Addr(), QPS: -1}
	client, err := rendezvous.Client(cfg)
	if err != nil {
		return err
	}
	proto := &remote.Protocol{}
	for i := range n {
		target := remote.Target{Namespace: "fault", Pod: podName(i), UID: "u", Container: "main", Agent: "/agent"}
		l := startLink(link.Config{Worker: target.Pod, Dialer: remote.New(cfg, client, target, proto), Gate: m.gate})
		e := &echo{in: newFeed(), came: make(chan error, 8)}
		m.lines, m.echo = append(m.lines, l), append(m.echo, e)
		if _, err := l.Open(ctx, "", wire.Spec{Argv: []string{"/bin/cat"}}, link.Streams{Stdin: e.in, Stdout: e}); err != nil {
			return err
		}
	}
	_, err = m.exchange(ctx, "hello")
	return err
}

// cutAll ends every connection and returns how long the slowest link took to
// carry bytes again.
func (m *many) cutAll(ctx context.Context, f leg.Fault) (time.Duration, error) {
	before := make([]int, len(m.lines))
	for i, l := range m.lines {
		before[i] = l.State().Redials
	}
	began := time.Now()
	if n := m.leg.End(f); n < len(m.lines) {
		return 0, fmt.Errorf("%d of %d links were up", n, len(m.lines))
	}
	if f == leg.FIN {
		// A word said in the instant of the cut may still be answered before it.
		time.Sleep(10 * time.Millisecond)
	}
	ended, err := m.exchange(ctx, fmt.Sprintf("after %s", f))
	for i, l := range m.lines {
		if err == nil && l.State().Redials == before[i] {
			err = fmt.Errorf("link %d was not cut", i)
		}
	}
	return ended.Sub(began), err
}

// exchange sends a word of its own through every session and returns when the
// last one has come back.
func (m *many) exchange(ctx context.Context, text string) (time.Time, error) {
	for i, e := range m.echo {
		e.say(podName(i) + " " + text + "\n")
	}
	var errs []error
	for i, e := range m.echo {
		select {
		case err := <-e.came:
			errs = append(errs, err)
		case <-ctx.Done():
			return time.Now(), fmt.Errorf("%s: %q did not come back: %w", podName(i), text, m.lines[i].State().Last)
		}
	}
	return time.Now(), errors.Join(errs...)
}

// close ends the sessions by their input, then the links, then the farm.
func (m *many) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, e := range m.echo {
		close(e.in.in)
	}
	var errs []error
	for i, l := range m.lines {
		for l.State().Sessions > 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if err := l.proven(ctx); err != nil { // the worker has been told to forget
			errs = append(errs, fmt.Errorf("%s: %w", podName(i), err))
		}
	}
	for _, l := range m.lines {
		errs = append(errs, l.stop())
	}
	if m.leg != nil {
		m.leg.Close()
	}
	if m.farm != nil {
		errs = append(errs, m.farm.close())
	}
	return errors.Join(errs...)
}

// busiest is the most dials that came within one second.
func busiest(asked []time.Time) int {
	most, first := 0, 0
	for i := range asked {
		for asked[i].Sub(asked[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
