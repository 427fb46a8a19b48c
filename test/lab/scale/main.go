//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// options holds the flags of the command line.
type options struct {
	bin, only              string
	launches, workers      int
	jobs, jobsAlone, nodes int
	pods                   int // of the large job
}

func main() { program.Main("scale", run) }

func run(ctx context.Context) (err error) {
	o := options{workers: 20, jobsAlone: 5, nodes: 4}
	flag.StringVar(&o.bin, "bin", "bin", "run the controller's binary in `DIR`")
	flag.StringVar(&o.only, "only", "", "measure only launches, many or large [launches and many]")
	flag.IntVar(&o.launches, "launches", 20, "launch `N` times")
	flag.IntVar(&o.jobs, "jobs", 200, "apply `N` jobs at the same time")
	flag.IntVar(&o.pods, "pods", 10_000, "apply one large job of `N` pods")
	flag.Parse()
	if !slices.Contains([]string{"", "launches", "many", "large"}, o.only) {
		return fmt.Errorf("-only=%s: use launches, many or large", o.only)
	}
	m, err := measure.New("scale")
	if err != nil {
		return err
	}
	w := &world{m}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Install(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		do   func(context.Context, options) error
	}{{"launches", w.launches}, {"many", w.many}, {"large", w.large}} {
		if o.only != part.name && (o.only != "" || part.name == "large") {
			continue
		}
		before := w.Steps()
		if err := errors.Join(part.do(ctx, o), w.Undo(before)); err != nil { // stops the controller before the next part starts its own
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// world is the cluster, and the cleanup steps for the changes in it.
type world struct{ *measure.World }

// record records figures, and prints them.
func record(name string, raw any, rows ...figure.Row) error {
	return figure.Report("make e2e-scale", name, raw, rows...)
}
