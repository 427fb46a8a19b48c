package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// attempts is how often a run is done whose moment did not come.
const attempts = 5

// plan is how much of the matrix to run.
type plan struct {
	seed  uint64
	cells []cell
	from  int // number of the first run of each cell
	runs  int // of each cell, half of them over each transport
	lanes int
	real  bool
}

// bulk runs the plan over lanes of rigs and returns every run's result.
func (y *yard) bulk(p plan, progress io.Writer) ([]result, error) {
	jobs := map[string]chan job{}
	rng := rand.New(rand.NewPCG(p.seed, 1))
	total := 0
	for i, transport := range []string{webSocket, spdy} {
		var list []job
		for _, c := range p.cells {
			for n := range p.runs {
				if n%2 == i {
					list = append(list, job{c, p.from + n})
				}
			}
		}
		rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		jobs[transport] = make(chan job, len(list))
		for _, j := range list {
			jobs[transport] <- j
		}
		close(jobs[transport])
		total += len(list)
	}
	results := make(chan result, p.lanes)
	var lanes sync.WaitGroup
	errs := make([]error, p.lanes)
	rigs := make([]*rig, p.lanes)
	for i := range p.lanes {
		transport := []string{webSocket, spdy}[i%2]
		lanes.Go(func() {
			rigs[i], errs[i] = y.lane(p, fmt.Sprintf("%s%d", map[bool]string{true: "r", false: "l"}[p.real], i), transport, jobs[transport], results)
		})
	}
	go func() {
		lanes.Wait()
		close(results)
	}()
	var all []result
	last := time.Now()
	for res := range results {
		all = append(all, res)
		if time.Since(last) > 15*time.Second {
			last = time.Now()
			fmt.Fprintf(progress, "  %d of %d runs\n", len(all), total)
		}
	}
	errs = append(errs, y.procs.endSessions())
	for _, r := range rigs {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return all, errors.Join(errs...)
}

// lane does jobs on one rig, which is for the caller to close.
func (y *yard) lane(p plan, name, transport string, jobs <-chan job, results chan<- result) (*rig, error) {
	r, err := y.newRig(name, transport, p.real)
	if err != nil {
		return nil, err
	}
	if err := r.warm(); err != nil {
		return r, err
	}
	for j := range jobs {
		var res result
		for try := range attempts {
			res = r.run(job{j.cell, j.n + try<<20}, p.seed)
			if res.Struck || res.bad() {
				break
			}
		}
		results <- res
	}
	return r, nil
}

// warm links once: so that a server's protocol is known.
func (r *rig) warm() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l := r.link(nil)
	err := l.proven(ctx)
	return errors.Join(err, l.stop())
}
