//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

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
