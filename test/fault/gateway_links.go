package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/test/fault/gateway"
	"github.com/musterhq/muster/test/fault/leg"
)

// memories counts what many links of one launcher have dropped.
type memories struct {
	Links int `json:"links"`
	Start int `json:"dropped_at_the_start"`  // the first link came before the others
	Run   int `json:"dropped_in_mid_run"`    // all links were cut at once, twice
	Told  int `json:"changes_told"`          // by two launchers
	Late  int `json:"dropped_of_late_links"` // links that come after that
}

// remember starts n links of one launcher behind a gateway, and n links of another one that meets it in mid-run.
func (y *yard) remember(n int) (m memories, err error) {
	m.Links = n
	g, err := gateway.Start(y.procs.reaper, filepath.Join(y.dir, "gateway2"), y.cluster.Addr(0))
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	var told atomic.Int32
	for i, launch := range []func(context.Context, []*rig) error{
		func(ctx context.Context, rigs []*rig) error {
			return errors.Join(up(ctx, g, "502", rigs[:1], 0), up(ctx, g, "502", rigs, 1))
		},
		func(ctx context.Context, rigs []*rig) error {
			return errors.Join(up(ctx, g, gateway.Open, rigs[:n], 0), turn(ctx, g, gateway.Holds, rigs[:n]), up(ctx, g, gateway.Closes, rigs[n:], 0))
		},
	} {
		if err := y.launcher(fmt.Sprintf("k%d-", i), n+3*i, &told, launch); err != nil {
			return m, err
		}
	}
	dropped, err := g.Dropped()
	m.Start, m.Run, m.Late, m.Told = dropped["502"], dropped[gateway.Holds], dropped[gateway.Closes], int(told.Load())
	return m, err
}

// launcher makes n rigs that share a protocol, as the links of a launcher do, and runs them.
func (y *yard) launcher(name string, n int, told *atomic.Int32, run func(context.Context, []*rig) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	proto := &remote.Protocol{Changed: func(remote.Transport, error) { told.Add(1) }}
	var rigs []*rig
	defer func() {
		for _, r := range rigs {
			if r.held != nil {
				err = errors.Join(err, r.held.stop())
			}
			err = errors.Join(err, r.close())
		}
	}()
	for i := range n {
		r, err := y.newRig(fmt.Sprint(name, i), anyTransport, false)
		if err != nil {
			return err
		}
		r.proto, r.shared = proto, true
		rigs = append(rigs, r)
	}
	return run(ctx, rigs)
}

// up starts the links of rigs through a gateway, except for the first ones.
func up(ctx context.Context, g *gateway.Gateway, kind string, rigs []*rig, from int) error {
	for _, r := range rigs[from:] {
		r.legs[clientLeg].Redirect("unix", g.Path(kind))
		r.held = r.link(nil)
	}
	return all(rigs, func(r *rig) error { return r.held.proven(ctx) })
}

// turn cuts all links twice. Later connections go through another gateway.
func turn(ctx context.Context, g *gateway.Gateway, kind string, rigs []*rig) error {
	for _, r := range rigs {
		r.legs[clientLeg].Redirect("unix", g.Path(kind))
	}
	for range 2 {
		err := all(rigs, func(r *rig) error {
			r.legs[clientLeg].End(leg.RST)
			return r.held.proven(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// all calls do for all rigs at the same time.
func all(rigs []*rig, do func(*rig) error) error {
	errs := make([]error, len(rigs))
	var done sync.WaitGroup
	for i, r := range rigs {
		done.Go(func() { errs[i] = do(r) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// holding counts redials of links that carry nothing through a gateway with an idle timeout.
type holding struct {
	Kept    int     `json:"redials_with_keep_alive"`
	Without int     `json:"redials_without_keep_alive"`
	Default int     `json:"redials_with_defaults"`
	Seconds float64 `json:"seconds_with_defaults"`
}

// run holds three links: with a ping that is shorter than the idle timeout, without a ping, and with the timers of
// the product behind nginx's default of 60 s.
func (h *holding) run(y *yard, g *gateway.Gateway, o options) error {
	short := 4 * gateway.IdleTime
	long := 70 * time.Second
	if o.subset {
		long = short
	}
	h.Seconds = long.Seconds()
	var errs [3]error
	var done sync.WaitGroup
	for i, c := range []struct {
		kind    string
		ping    time.Duration
		dead    time.Duration
		time    time.Duration
		redials *int
	}{
		{gateway.Idle, gateway.IdleTime / 3, 0, short, &h.Kept},
		{gateway.Idle, time.Hour, 2 * time.Hour, short, &h.Without},
		{gateway.Strips, 0, 0, long, &h.Default},
	} {
		done.Go(func() {
			*c.redials, errs[i] = y.idles(fmt.Sprintf("i%d", i), g.Path(c.kind), c.time, func(l *link.Config) { l.PingEvery, l.DeadAfter = c.ping, c.dead })
		})
	}
	done.Wait()
	return errors.Join(errs[:]...)
}

// idles returns how often a link that carries nothing was redialed.
func (y *yard) idles(name, path string, span time.Duration, change func(*link.Config)) (redials int, err error) {
	r, err := y.newRig(name, anyTransport, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.legs[clientLeg].Redirect("unix", path)
	l := r.link(change)
	defer func() { err = errors.Join(err, l.stop()) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := l.proven(ctx); err != nil {
		return 0, err
	}
	time.Sleep(span)
	return l.State().Redials, nil
}
