package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/suite/figure"
)

// Dials through an open gate, from exec/link: 200 a second after a burst of 40.
const mostDialsASecond = 240

// many is a thousand links of one launcher, each to a PID 1 of its own.
type many struct {
	rigs  []*rig
	lines []*line
	gate  *link.Gate
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
	if err := m.open(ctx, y, n); err != nil {
		return err
	}
	y.cluster.Asked()
	var took []float64
	var rates []float64
	for round := range 2 {
		gaps, err := m.cutAll(ctx, []leg.Fault{leg.RST, leg.FIN}[round])
		if err != nil {
			return err
		}
		took = append(took, slices.Max(gaps))
		rates = append(rates, float64(busiest(y.cluster.Asked())))
		time.Sleep(time.Second)
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

// open builds the rigs, links them and starts a session on each.
func (m *many) open(ctx context.Context, y *yard, n int) error {
	for i := range n {
		r, err := y.newRig(fmt.Sprintf("k%d", i), webSocket, false)
		if err != nil {
			return err
		}
		r.gate = m.gate
		m.rigs = append(m.rigs, r)
		m.lines = append(m.lines, r.link(nil))
		e := &echo{in: newFeed(), came: make(chan error, 8)}
		m.echo = append(m.echo, e)
		if _, err := m.lines[i].Open(ctx, "", wire.Spec{Argv: []string{"/bin/cat"}}, link.Streams{Stdin: e.in, Stdout: e}); err != nil {
			return err
		}
	}
	_, err := m.exchange(ctx, "hello")
	return err
}

// cutAll ends every connection of the first leg and returns each link's gap in seconds.
func (m *many) cutAll(ctx context.Context, f leg.Fault) ([]float64, error) {
	began := time.Now()
	for _, r := range m.rigs {
		r.legs[clientLeg].Now(f)
	}
	ends, err := m.exchange(ctx, fmt.Sprintf("after %s", f))
	if err != nil {
		return nil, err
	}
	gaps := make([]float64, len(ends))
	for i, at := range ends {
		gaps[i] = at.Sub(began).Seconds()
	}
	for i, l := range m.lines {
		if l.State().Redials == 0 {
			return nil, fmt.Errorf("link %d was not cut", i)
		}
	}
	return gaps, nil
}

// exchange sends a line of its own through every session and returns when it
// came back on each.
func (m *many) exchange(ctx context.Context, text string) ([]time.Time, error) {
	ends := make([]time.Time, len(m.rigs))
	err := each(m.rigs, func(i int, r *rig) error {
		e := m.echo[i]
		e.say(r.name + " " + text + "\n")
		select {
		case err := <-e.came:
			ends[i] = time.Now()
			return err
		case <-ctx.Done():
			return fmt.Errorf("%s: %q did not come back: %w", r.name, text, m.lines[i].State().Last)
		}
	})
	return ends, err
}

func (m *many) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return each(m.rigs, func(i int, r *rig) error {
		var err error
		if i < len(m.lines) {
			close(m.echo[i].in.in)
			for m.lines[i].State().Sessions > 0 && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			err = errors.Join(m.lines[i].proven(ctx), m.lines[i].stop())
		}
		return errors.Join(err, r.close())
	})
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
