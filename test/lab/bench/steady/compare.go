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

// compared holds the times of a load, and the CPU time of the agents meanwhile.
type compared struct {
	load          load
	With, Without []float64 // seconds
	// HeldWith and HeldWithout are the same while links are held: in jobs that keep sessions, links are never parked.
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
		said, _ := space.Kubectl(ctx, nil, "logs", "with-launcher") // best effort: the log explains the error below
		return c, fmt.Errorf("%w\n%s", err, said)
	}
	return c, c.slices(ctx, dir, both)
}

// launchLimit is longer than all slices of a launch take.
const launchLimit = 20 * time.Minute

// slices starts the load with and without Muster at the same time. The ranks of one job compute
// while the ranks of the other sleep, one slice each in turn. So other load on the machine affects
// both, and runs of minutes are compared within seconds. Ranks are scheduled on
// other processors at each slice, and get other ports and memory at each launch.
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

// launch starts both jobs, runs all of their slices, and waits until both have ended.
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

// Times of a launch of Open MPI 4: its links are parked a minute after its daemons have detached.
const (
	startTime = 10 * time.Second
	parkTime  = time.Minute
)

// allot runs the slices in blocks. It keeps the sums of blocks with held links, and the
// sums of the blocks that count after the jobs have settled.
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

// slicesInBlock is large enough for an agent to scan its processes within a block.
const slicesInBlock = 50

// block runs a number of slices at each gate, in turn; n selects the first gate.
func block(ctx context.Context, n, slices int, gates []*gate) (sums [2]float64, err error) {
	for i := range slices * len(gates) {
		which := (n + (i+1)/2) % len(gates) // 0 1 1 0 0 1 1 ...: each gate follows itself as often as the other one
		seconds, err := gates[which].slice(ctx)
		if err != nil {
			return sums, err
		}
		sums[which] += seconds
	}
	return sums, nil
}
