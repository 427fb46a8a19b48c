//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/test/lab/bench/pods"
)

// compared is what a load took, and what the agents beside it did.
type compared struct {
	load          load
	With, Without []float64 // seconds
	// The same before the links are parked, as they never are for those who hold sessions.
	HeldWith, HeldWithout []float64
	Agents                []float64 // percent of a core, by worker
}

// compare runs a load with and without Muster.
func compare(ctx context.Context, o options, l load) (c compared, err error) {
	c.load = l
	dir, err := os.MkdirTemp("", "ms")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o777), l.prepare(ctx, dir)); err != nil {
		return c, err
	}
	space, err := pods.NewSpace(ctx, "steady")
	defer func() { err = errors.Join(err, space.Close(ctx)) }()
	if err != nil {
		return c, err
	}
	both, err := arms(ctx, o, l, space, dir)
	defer func() {
		for _, a := range both {
			a.close()
		}
	}()
	if err != nil {
		said, _ := space.Kubectl(ctx, nil, "logs", "with-launcher") // it stands beside the error
		return c, fmt.Errorf("%w\n%s", err, said)
	}
	return c, c.slices(ctx, dir, both)
}

// launchLimit is more than all slices of a launch take.
const launchLimit = 20 * time.Minute

// slices starts the load with and without Muster at once, and lets the ranks of one compute
// while the others sleep, a slice each in turn: what goes on besides on the machine meets
// both, and runs of minutes are compared within seconds. Ranks find themselves other
// places on the processors at each slice, and other ports and memory at each launch.
func (c *compared) slices(ctx context.Context, dir string, both []*arm) error {
	gates := make([]*gate, len(both))
	for i, a := range both {
		g, err := newGate(a)
		defer g.close()
		if err != nil {
			return err
		}
		gates[i] = g
	}
	for n := range c.load.launches {
		if err := c.launch(ctx, n, both, gates); err != nil {
			return err
		}
		if err := c.load.done(c, dir); err != nil {
			return err
		}
	}
	return nil
}

// launch is one start of both jobs, and all of their slices, until both have ended.
func (c *compared) launch(ctx context.Context, n int, both []*arm, gates []*gate) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var jobs errgroup.Group
	for i, a := range both {
		_, err := a.do(ctx, a.ready, time.Minute)
		if err := errors.Join(err, gates[i].shut()); err != nil {
			return err
		}
		line := a.mpirun(c.load)
		jobs.Go(func() error {
			_, err := a.do(ctx, line, launchLimit)
			return err
		})
	}
	err := c.load.play(ctx, c, n, both[0], gates)
	for _, g := range gates {
		err = errors.Join(err, g.end())
	}
	if err != nil {
		cancel()
	}
	return errors.Join(err, jobs.Wait())
}

// Of a launch of Open MPI 4: the links are parked a minute after its daemons have left.
const (
	startTime = 10 * time.Second
	parkTime  = time.Minute
)

// allot gives the slices out in blocks, whose sums are kept: those with links that are
// held, and, when the jobs have settled, those that count.
func (c *compared) allot(ctx context.Context, o options, launch int, with *arm, gates []*gate) error {
	for n, began := 0, time.Now(); time.Since(began) < o.settle; n++ {
		starting := time.Since(began) < startTime
		sums, err := block(ctx, n, slicesInBlock, gates)
		if err != nil {
			return err
		}
		if !starting && time.Since(began) < parkTime {
			c.HeldWith, c.HeldWithout = append(c.HeldWith, sums[0]), append(c.HeldWithout, sums[1])
		}
	}
	agents, err := watchAgents(with)
	if err != nil {
		return err
	}
	for n := range o.blocks {
		sums, err := block(ctx, n, slicesInBlock, gates)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "steady: %s, launch %d, block %d: %.3f s with Muster, %.3f s without\n", c.load.name, launch, n, sums[0], sums[1])
		c.With, c.Without = append(c.With, sums[0]), append(c.Without, sums[1])
		agents.look()
	}
	c.Agents = append(c.Agents, agents.percent()...)
	return nil
}

// slicesInBlock are enough for an agent to look at its processes within a block.
const slicesInBlock = 50

// block gives each gate so many slices, in turn; n says who begins.
func block(ctx context.Context, n, slices int, gates []*gate) (sums [2]float64, err error) {
	for i := range slices * len(gates) {
		which := (n + (i+1)/2) % len(gates) // 0 1 1 0 0 1 1 ...: each comes as often behind itself
		seconds, err := gates[which].slice(ctx)
		if err != nil {
			return sums, err
		}
		sums[which] += seconds
	}
	return sums, nil
}
