//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

const space = "bench-apply"

// options holds the flags of the command line.
type options struct {
	bin     string
	image   string
	workers measure.Sizes
	rounds  int
}

// world is the cluster and the changes that the benchmark made in it.
type world struct {
	*measure.World
	image    string
	versions []string // versions of the programs in the image
	jobs     int      // number of jobs applied so far
}

func main() { program.Main("apply", run) }

func run(ctx context.Context) (err error) {
	o := options{workers: measure.Sizes{2, 20, 60}}
	flag.StringVar(&o.bin, "bin", "bin", "run the controller's binary in `DIR`")
	flag.Var(&o.workers, "workers", "run jobs of `N,N` workers")
	flag.IntVar(&o.rounds, "rounds", 3, "run each contender `N` times at each size")
	flag.StringVar(&o.image, "image", "localhost/muster-bench:dev", "use the image `NAME`, built from images/bench")
	flag.Parse()
	if _, err := operator.MPI().Build(ctx); err != nil { // takes minutes the first time
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

// prepare installs both kinds and starts both operators.
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
	w.Later("stop mpi-operator", func(context.Context) error { return theirs.End() })
	return nil
}

// column is a column of the table, computed from a result.
type column struct {
	name, unit string
	of         func(result) float64
}

func columns() []column {
	return []column{
		{"apply to first rank's line", "s", func(r result) float64 { return r.FirstLine }},
		{"apply to last rank's line", "s", func(r result) float64 { return r.LastLine }},
		{"apply to Succeeded", "s", func(r result) float64 { return r.Ended }},
		{"launcher restarts", "restarts", func(r result) float64 { return float64(r.Restarts) }},
		{"API requests of the job", "requests", func(r result) float64 { return float64(r.Requests) }},
		{"objects made, pods included", "objects", func(r result) float64 { return float64(r.Objects) }},
	}
}

// samples returns a column's values for one contender at one size.
func samples(results []result, key string, n int, of func(result) float64) (list []float64) {
	for _, r := range results {
		if r.Contender == key && r.Workers == n {
			list = append(list, of(r))
		}
	}
	return list
}

// report saves the table and the figures.
func (w *world) report(o options, results []result) error {
	t := report.Table{Name: "apply", Title: "From kubectl apply to the ranks", Order: 40, Over: "workers", Drawn: []int{0}, Command: "make bench-apply"}
	for _, c := range columns() {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Unit: c.unit})
	}
	for _, n := range o.workers {
		for _, c := range contenders() {
			row := report.Row{Name: c.name, Size: n}
			for _, column := range columns() {
				row.Cells = append(row.Cells, samples(results, c.key, n, column.of))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	version, err := operator.MPI().Version()
	if err != nil {
		return err
	}
	t.Notes = []string{
		"mpi-operator " + version + "; " + strings.Join(w.versions, "; ") + ".",
		fmt.Sprintf("%d jobs of each, taking turns, one at a time; one image, present on both nodes; one rank a worker. Both operators run as processes outside the cluster.", o.rounds),
		"mpi-operator has its defaults, including 5 requests a second. Its launcher is a Job, which restarts it when ssh does not reach a worker.",
		"Requests: of the operator and of the job's own service accounts, without the operators' watches; not of kubelets, scheduler and Kubernetes' own controllers.",
	}
	if err := report.Save(t); err != nil {
		return err
	}
	return figures(o, results)
}

// figures records the time to the first rank's line of each contender, and the ratio of ours to each of the others.
func figures(o options, results []result) error {
	raw := map[string]any{"jobs": results}
	var rows []figure.Row
	first := columns()[0].of
	for _, n := range o.workers {
		name := fmt.Sprintf("apply to first rank's line, %d workers: ", n)
		ours := samples(results, "muster", n, first)
		for _, c := range contenders() {
			key := fmt.Sprintf("%s %d", c.key, n)
			list := samples(results, c.key, n, first)
			raw[key] = figure.Series{Unit: "s", Reduce: "median", Samples: list}
			rows = append(rows, figure.Row{Name: name + c.name, Log: key})
			if c.key != "muster" {
				raw["over "+key] = figure.Series{Unit: "ratio", Reduce: "ratio", Samples: ours, Over: list}
				rows = append(rows, figure.Row{Name: name + "LaunchJob over " + c.name, Log: "over " + key})
			}
		}
	}
	return figure.Report("make bench-apply", "bench-apply", raw, rows...)
}
