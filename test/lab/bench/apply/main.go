//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"path/filepath"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/figure"
)

const space = "bench-apply"

// options are the command line.
type options struct {
	bin     string
	image   string
	workers measure.Sizes
	rounds  int
}

// world is the cluster, and what we have changed in it.
type world struct {
	*measure.World
	image    string
	versions []string // of what runs
	jobs     int      // applied so far
}

func main() { measure.Main("apply", run) }

func run(ctx context.Context) (err error) {
	o := options{workers: measure.Sizes{2, 20, 60}}
	flag.StringVar(&o.bin, "bin", "bin", "`DIR` of the controller's binary")
	flag.Var(&o.workers, "workers", "sizes of the jobs, `N,N`")
	flag.IntVar(&o.rounds, "rounds", 3, "run each contender `N` times at each size")
	flag.StringVar(&o.image, "image", "localhost/muster-bench:dev", "`NAME` of the image of images/bench")
	flag.Parse()
	if _, err := operator.MPI().Build(ctx); err != nil { // minutes, the first time
		return err
	}
	m, err := measure.New("apply")
	if err != nil {
		return err
	}
	w := &world{World: m, image: o.image}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.prepare(ctx, o.bin); err != nil {
		return err
	}
	results, err := w.all(ctx, o)
	if err != nil {
		return err
	}
	return w.report(o, results)
}

// prepare brings both kinds, and starts both operators.
func (w *world) prepare(ctx context.Context, bin string) error {
	if err := w.Install(ctx); err != nil {
		return err
	}
	files, err := operator.MPIKinds(ctx)
	if err != nil {
		return err
	}
	w.Later("remove MPIJobs", operator.Undefine)
	if err := errors.Join(operator.Undefine(ctx), operator.Define(ctx, files)); err != nil {
		return err
	}
	if err := w.Spaces(ctx, "privileged", space); err != nil {
		return err
	}
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	if _, err := w.Controller(ctx, bin, filepath.Join(out, "raw", "bench-apply-controller.log")); err != nil {
		return err
	}
	theirs, err := operator.StartMPI(ctx, filepath.Join(out, "raw", "bench-apply-mpi-operator.log"), space)
	if err != nil {
		return err
	}
	w.Later("end mpi-operator", func(context.Context) error { return theirs.End() })
	return nil
}
