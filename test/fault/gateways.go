package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/fault/gateway"
	"github.com/musterhq/muster/test/fault/leg"
	"github.com/musterhq/muster/test/suite/figure"
)

// atStart is the moment of a gateway that blocks SPDY from the start. At the other moments it begins when it cuts
// the connection.
const atStart moment = "at the start"

var gatewayMoments = []moment{atStart, midStdout, midStdin}

// anyTransport is that of a rig whose server supports both.
const anyTransport = ""

// passing is the result of one run behind a gateway.
type passing struct {
	result
	Kind string  `json:"gateway"`
	Took float64 `json:"seconds_until_connected"` // since the first dial, or the cut
}

// gateways carries sessions through gateways that pass WebSockets and drop SPDY.
func gateways(y *yard, o options, b *book) (err error) {
	g, err := gateway.Start(y.procs.reaper, filepath.Join(y.dir, "gateway"), y.cluster.Addr(0))
	if err != nil {
		return err
	}
	idle := make(chan error, 1)
	held := &holding{}
	go func() { idle <- held.run(y, g, o) }()
	results, dials, err := y.pass(g, o)
	dials[gateway.Strips]++ // the idle link with defaults
	err = errors.Join(err, <-idle, g.Close())
	if err != nil {
		return err
	}
	dropped, err := g.Dropped()
	if err != nil {
		return err
	}
	shared, err := y.remember(12)
	if err != nil {
		return err
	}
	if err := showGateways(os.Stdout, results, dropped, dials); err != nil {
		return err
	}
	return b.keep("fault-gateway", gatewayNumbers(results, dropped, dials, shared, held), gatewayRows(o, shared, held)...)
}

// pass runs every kind of gateway at every moment. It also returns how many launchers met each kind.
func (y *yard) pass(g *gateway.Gateway, o options) ([]passing, map[string]int, error) {
	runs, lanes := 50, min(o.lanes, 24)
	if o.subset {
		runs = 4
	}
	type task struct {
		kind string
		m    moment
		n    int
	}
	var list []task
	for _, kind := range gateway.Blocking() {
		for _, m := range gatewayMoments {
			for n := range runs {
				list = append(list, task{kind, m, n})
			}
		}
	}
	rand.New(rand.NewPCG(o.seed, 3)).Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	tasks := make(chan task, len(list))
	for _, t := range list {
		tasks <- t
	}
	close(tasks)
	var mu sync.Mutex
	var all []passing
	var errs []error
	dials := map[string]int{}
	var work sync.WaitGroup
	for i := range lanes {
		work.Go(func() {
			r, err := y.newRig(fmt.Sprintf("g%d", i), anyTransport, false)
			for t := range tasks {
				if err != nil {
					break
				}
				var p passing
				for try := range attempts {
					p = r.passes(g, t.kind, job{cell{clientLeg, fault([]leg.Fault{leg.FIN, leg.RST}[t.n%2]), t.m}, t.n + try<<20}, o.seed)
					mu.Lock()
					dials[t.kind]++
					mu.Unlock()
					if p.Struck || p.bad() {
						break
					}
				}
				mu.Lock()
				all = append(all, p)
				mu.Unlock()
			}
			mu.Lock()
			errs = append(errs, err, r.close())
			mu.Unlock()
		})
	}
	work.Wait()
	return all, dials, errors.Join(append(errs, y.procs.endSessions())...)
}

// passes runs one session. The link is cut once more at the end, to see whether it remembers the gateway.
func (r *rig) passes(g *gateway.Gateway, kind string, j job, seed uint64) (p passing) {
	rng := rand.New(rand.NewPCG(seed, j.cell.seed()+uint64(j.n)))
	p = passing{Kind: kind, result: result{Cell: j.cell, Run: j.n}}
	began := time.Now()
	defer func() { p.Seconds = time.Since(began).Seconds() }()
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	defer cancel()
	what := newLoad(rng, r.dir)
	blocked := make(chan time.Time, 1)
	block := func() {
		r.legs[clientLeg].Redirect("unix", g.Path(kind))
		blocked <- time.Now()
	}
	var strike *strike
	if j.cell.Moment == atStart {
		block()
	} else {
		r.legs[clientLeg].Redirect("unix", g.Path(gateway.Open))
		strike = r.prepare(rng, j.cell, what)
		strike.leg.Begin = block
	}
	var up reconnected
	l := r.link(func(c *link.Config) { c.OnState = up.note(blocked) })
	err := r.carry(ctx, l, what, &p.result)
	if err == nil && (strike == nil || strike.await(ctx) == nil) {
		p.Struck = true
		if err = l.proven(ctx); err == nil {
			p.Took = up.took().Seconds()
			r.legs[clientLeg].End(leg.RST)
			err = l.proven(ctx)
		}
	}
	p.Redials = l.State().Redials
	if lost := l.stop(); err == nil {
		err = lost
	}
	if err != nil {
		p.Struck, p.Broken = true, err.Error()
	}
	r.tidy()
	return p
}

// reconnected measures how long a link takes to be connected after a gateway has begun to block it.
type reconnected struct {
	mu   sync.Mutex
	from time.Time
	time time.Duration
}

// note returns the link's OnState.
func (u *reconnected) note(blocked <-chan time.Time) func(link.State) {
	return func(s link.State) {
		u.mu.Lock()
		defer u.mu.Unlock()
		select {
		case u.from = <-blocked:
		default:
		}
		if s.Connected && !u.from.IsZero() && u.time == 0 {
			u.time = time.Since(u.from)
		}
	}
}

func (u *reconnected) took() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.time
}

// showGateways prints the table of gateways and moments.
func showGateways(w io.Writer, results []passing, dropped, dials map[string]int) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "gateway\tmoment\truns\tbad\tredials\tmedian s\tmost s\tdropped/launchers\t")
	for _, kind := range gateway.Blocking() {
		for _, m := range gatewayMoments {
			var took []float64
			bad, redials := 0, 0
			for _, p := range results {
				if p.Kind != kind || p.Cell.Moment != m || !p.Struck {
					continue
				}
				took, redials = append(took, p.Took), redials+p.Redials
				if p.bad() {
					bad++
					fmt.Printf("BAD %s %s: %+v\n", kind, m, p)
				}
			}
			if len(took) == 0 {
				continue
			}
			most, _ := figure.Series{Samples: took, Reduce: "max"}.Value() // it has samples
			fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\t%.2f\t%.2f\t%d/%d\t\n", kind, m, len(took), bad, redials, figure.Median(took), most, dropped[kind], dials[kind])
		}
	}
	return tw.Flush()
}

// gatewayNumbers returns the raw numbers of the part.
func gatewayNumbers(results []passing, dropped, dials map[string]int, shared memories, held *holding) map[string]any {
	var plain []result
	var quick, slow []float64
	most := 0.0
	for _, p := range results {
		plain = append(plain, p.result)
		switch {
		case !p.Struck:
		case p.Kind == gateway.Holds:
			slow = append(slow, p.Took)
		default:
			quick = append(quick, p.Took)
		}
	}
	for kind, n := range dials {
		most = max(most, float64(dropped[kind])/float64(n))
	}
	n := sums(plain)
	return map[string]any{"sessions": n.Faults, "false_successes": n.FalseSuccess, "lost_or_doubled_bytes": n.Bytes, "second_launches": n.Launches,
		"broken": n.Broken, "dropped_per_launcher": most, "dropped": dropped, "launchers": dials, "shared": shared, "held": held, "runs": results,
		"shared_start": shared.Start, "shared_run": shared.Run, "shared_late": shared.Late, "shared_told": shared.Told,
		"kept": held.Kept, "without": held.Without, "default": held.Default,
		"quick": figure.Series{Unit: "s", Samples: quick, Reduce: "p99"}, "slow": figure.Series{Unit: "s", Samples: slow, Reduce: "p99"}}
}

func gatewayRows(o options, shared memories, held *holding) []figure.Row {
	least := 50.0
	if o.subset {
		least = 4
	}
	const of = "gateways that drop SPDY: "
	return []figure.Row{
		{Name: of + "sessions", Log: "sessions", Op: ">=", Bar: least * float64(len(gateway.Blocking())*len(gatewayMoments))},
		{Name: of + "sessions that ended in a false success", Log: "false_successes", Op: "=="},
		{Name: of + "sessions that lost or doubled bytes", Log: "lost_or_doubled_bytes", Op: "=="},
		{Name: of + "sessions that were launched twice", Log: "second_launches", Op: "=="},
		{Name: of + "sessions or links that did not survive", Log: "broken", Op: "=="},
		{Name: of + "most SPDY requests of a link, two cuts included", Log: "dropped_per_launcher", Op: "<=", Bar: 1},
		{Name: of + "connected after start or cut, p99, gateway answers or closes", Log: "quick", Op: "<=", Bar: 3},
		{Name: of + "connected after start or cut, p99, gateway is silent", Log: "slow", Op: "<=", Bar: 10},
		{Name: fmt.Sprintf(of+"SPDY requests of %d links of a launcher, first link first", shared.Links), Log: "shared_start", Op: "==", Bar: 1},
		{Name: fmt.Sprintf(of+"SPDY requests of %d links of a launcher, all cut twice in mid-run", shared.Links), Log: "shared_run", Op: "<=", Bar: float64(shared.Links)},
		{Name: of + "SPDY requests of links that come later", Log: "shared_late", Op: "=="},
		{Name: of + "changes that two launchers told", Log: "shared_told", Op: "==", Bar: 2},
		{Name: fmt.Sprintf("idle link, gateway with a timeout of %s: redials", gateway.IdleTime), Log: "kept", Op: "=="},
		{Name: fmt.Sprintf("idle link, gateway with a timeout of %s, no keep-alive: redials", gateway.IdleTime), Log: "without", Op: ">=", Bar: 1},
		{Name: fmt.Sprintf("idle link for %.0f s, gateway with a timeout of 60 s, defaults: redials", held.Seconds), Log: "default", Op: "=="},
	}
}
