//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/test/bench/pods"
)

const runLimit = 4 * time.Minute

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
	if l.read == nil {
		return c, c.slices(ctx, o, both)
	}
	return c, c.runs(ctx, o, both)
}

// runs runs the load with and without Muster, in turn.
func (c *compared) runs(ctx context.Context, o options, both []*arm) error {
	l, with, without := c.load, both[0], both[1]
	for n := range o.pairs + 1 {
		order := []*arm{with, without}
		if n%2 == 1 {
			order = []*arm{without, with}
		}
		for _, a := range order {
			seconds, err := once(ctx, l, a)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "steady: %s %s Muster, run %d: %v s\n", l.name, a.name, n, seconds)
			switch {
			case n == 0:
			case a == with:
				c.With = append(c.With, seconds...)
			default:
				c.Without = append(c.Without, seconds...)
			}
		}
	}
	return nil
}

// once runs the load.
func once(ctx context.Context, l load, a *arm) (seconds []float64, err error) {
	if _, err := a.do(ctx, a.ready, time.Minute); err != nil {
		return nil, err
	}
	said, err := a.do(ctx, a.mpirun(l, l.argv), runLimit)
	if err != nil {
		return nil, err
	}
	if seconds, err = l.read(a.dir); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", a.name, err, said)
	}
	return seconds, nil
}
