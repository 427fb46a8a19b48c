//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/test/suite/kube"
)

//go:embed testdata/gate.h
var gateHeader []byte

//go:embed testdata/allreduce.c
var allreduce []byte

// load is what ranks do.
type load struct {
	key, name string
	workers   int
	launches  int
	// prepare puts into a directory, /shared in the pods, what line needs.
	prepare func(ctx context.Context, dir string) error
	// line is mpirun's, behind its own words, of the job with a name.
	line func(job string) string
	// play gives a launch's slices out, and keeps what they took.
	play func(ctx context.Context, c *compared, launch int, with *arm, gates []*gate) error
	// done keeps what the programs themselves say of a launch that has ended.
	done     func(c *compared, dir string) error
	together int // samples of one launch, which may rise and fall together; 1: they do not
}

func loads(o options) []load {
	return []load{{
		key: "hpl", name: "HPL", workers: 2, launches: o.pairs, prepare: putHPCC, line: hpccLine, play: playHPCC, done: keepHPCC, together: timesOfHPL,
	}, {
		key: "allreduce", name: "allreduce", workers: o.workers, launches: o.launches, prepare: putAllreduce,
		line: func(job string) string { return fmt.Sprintf("/shared/allreduce /shared/%s 1000 %d", job, o.turns) },
		play: func(ctx context.Context, c *compared, launch int, with *arm, gates []*gate) error {
			return c.allot(ctx, o, launch, with, gates)
		},
		done: func(*compared, string) error { return nil }, together: 1,
	}}
}

// share is each pod's request: most of a processor for all of a job, so that ranks go before
// whatever else runs on the machine, and both jobs have room on nodes of two.
func (l load) share() string { return fmt.Sprintf("%dm", 800/l.workers) }

// putAllreduce builds the loop.
func putAllreduce(ctx context.Context, dir string) error {
	return build(ctx, dir, "allreduce.c", allreduce, "-o", filepath.Join(dir, "allreduce"))
}

// build compiles a program that waits at a gate: the pods have no compiler.
func build(ctx context.Context, dir, name string, text []byte, options ...string) error {
	source := filepath.Join(dir, name)
	if err := errors.Join(os.WriteFile(source, text, 0o644), os.WriteFile(filepath.Join(dir, "gate.h"), gateHeader, 0o644)); err != nil {
		return err
	}
	_, err := kube.Program(ctx, nil, "mpicc.openmpi", append([]string{"-O2", source}, options...)...)
	return err
}
