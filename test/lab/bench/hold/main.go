//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// options holds the flags of the command line.
type options struct {
	workers measure.Sizes
	rounds  int
	only    string
	image   string
	kubectl string
}

func main() { program.Main("hold", run) }

func run(ctx context.Context) (err error) {
	o := options{workers: measure.Sizes{20, 60}}
	flag.Var(&o.workers, "workers", "run jobs of `N,N` workers")
	flag.IntVar(&o.rounds, "rounds", 1, "run each contender `N` times at each size")
	flag.StringVar(&o.only, "only", "", "run only these contenders, separated by commas [all]")
	flag.StringVar(&o.image, "image", "localhost/muster-bench:dev", "use the image `NAME`, built from images/bench")
	flag.Parse()
	chosen := slices.DeleteFunc(contenders(), func(c contender) bool {
		return o.only != "" && !slices.Contains(strings.Split(o.only, ","), c.key)
	})
	if len(chosen) == 0 {
		return fmt.Errorf("-only=%s: unknown contender: use muster, attached, kubexec or flat", o.only)
	}
	if o.kubectl = os.Getenv("MUSTER_KUBECTL"); o.kubectl == "" {
		return errors.New("MUSTER_KUBECTL is not set: it must name a kubectl of the cluster's version: run eval \"$(go -C test/lab/cluster run . env)\"")
	}
	m, err := measure.New("hold")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	w := &world{World: m, image: o.image, kubectl: o.kubectl}
	results, err := w.all(ctx, o, chosen)
	if err != nil {
		return err
	}
	return w.report(o, chosen, results)
}

// column is a column of the table, computed from a run.
type column struct {
	name, unit string
	of         func(result) float64
}

// each divides a quantity by the number of workers.
func each(of func(result) float64) func(result) float64 {
	return func(r result) float64 { return of(r) / float64(r.Workers) }
}

// columns returns the columns in the table's order. The constants below are indexes into it.
func columns() []column {
	return []column{
		{"streams held, all launched", "streams", func(r result) float64 { return r.Launched.Streams }},
		{"streams held, 2 min into the job", "streams", func(r result) float64 { return r.Into.Streams }},
		{"API server's goroutines per worker, 2 min", "goroutines", each(func(r result) float64 { return r.Into.Goroutines - r.Before.Goroutines })},
		{"API server's live memory per worker, 2 min", "kB", each(func(r result) float64 { return (r.Into.Live - r.Before.Live) / 1e3 })},
		{"API server's resident memory per worker, 2 min", "kB", each(func(r result) float64 { return (r.Into.Resident - r.Before.Resident) / 1e3 })},
		{"requests per worker to launch", "requests", each(func(r result) float64 { return float64(r.Until) })},
		{"requests per worker in the 2 min", "requests", each(func(r result) float64 { return float64(r.Meanwhile) })},
		{"requests per worker, start to end", "requests", each(func(r result) float64 { return float64(r.ToEnd) })},
	}
}

const (
	streams    = 1
	goroutines = 2
	memory     = 3
	meanwhile  = 6
	whole      = 7
)

// samples returns a column's values for one contender at one size.
func samples(results []result, key string, n int, of func(result) float64) (list []float64) {
	for _, r := range results {
		if r.Contender == key && r.Workers == n {
			list = append(list, of(r))
		}
	}
	return list
}

// report saves the table and records the figures.
func (w *world) report(o options, chosen []contender, results []result) error {
	t := report.Table{Name: "hold", Title: "What the API server holds for a job that runs", Order: 30, Over: "workers",
		Drawn: []int{streams, goroutines}, Command: "make bench-hold"}
	for _, c := range columns() {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Unit: c.unit})
	}
	for size, n := range o.workers {
		for _, c := range chosen {
			if c.once && size > 0 {
				continue
			}
			row := report.Row{Name: c.name, Size: n}
			for _, column := range columns() {
				row.Cells = append(row.Cells, samples(results, c.key, n, column.of))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Notes = []string{
		strings.Join(w.versions, "; ") + "; kubexec.sh uses the same kubectl.",
		fmt.Sprintf("%d runs of each, taking turns, and one run of contenders that are not measured at every size. Each worker has one rank, which sleeps. The differences include the launcher's pod, but not the workers' pods.", o.rounds),
		"Live memory: heap after a collection, and stacks. Resident memory follows slowly; small changes are noise.",
		"Requests: by the launcher's service account, including lists and watches. Muster's second request for each worker tells it that the job has ended; a job that ends within a minute uses the first stream for that.",
	}
	if err := report.Save(t); err != nil {
		return err
	}
	return w.figures(o, results)
}

// figures records the figures of the contenders that were measured.
func (w *world) figures(o options, results []result) error {
	raw := map[string]any{"runs": results}
	var rows []figure.Row
	add := func(key, name string, n, at int, reduce string, row figure.Row) {
		c := columns()[at]
		list := samples(results, key, n, c.of)
		if len(list) == 0 {
			return
		}
		row.Name, row.Log = name, fmt.Sprintf("%s %d %d", key, n, at)
		raw[row.Log] = figure.Series{Unit: c.unit, Reduce: reduce, Samples: list}
		rows = append(rows, row)
	}
	for _, n := range o.workers {
		job := fmt.Sprintf("2 minutes into an Open MPI 4 job of %d workers", n)
		add("muster", "streams held at the API server "+job, n, streams, "max", figure.Row{Op: "==", Bar: 0})
		add("kubexec", "streams held at the API server "+job+", kubexec.sh", n, streams, "max", figure.Row{})
		for _, c := range []struct{ key, whose string }{{"muster", ""}, {"attached", ", daemons attached"}, {"kubexec", ", kubexec.sh"}} {
			add(c.key, "API server's goroutines per worker "+job+c.whose, n, goroutines, "median", figure.Row{})
			add(c.key, "API server's memory per worker "+job+c.whose, n, memory, "median", figure.Row{})
		}
		add("muster", fmt.Sprintf("API requests per worker in 2 minutes of an Open MPI 4 job of %d workers", n), n, meanwhile, "median", figure.Row{})
		add("muster", fmt.Sprintf("API requests per worker, start to end of an Open MPI 4 job of %d workers and over 2 minutes", n), n, whole, "median", figure.Row{})
	}
	return figure.Report("make bench-hold", "bench-hold", raw, rows...)
}

// reading holds metrics of the API server.
type reading = measure.Server

// read makes the API server collect its garbage, and reads its metrics.
func (w *world) read(ctx context.Context) (reading, error) {
	for range 2 { // pooled memory survives the first collection
		if _, err := w.Fetch(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return reading{}, err
		}
	}
	return w.Server(ctx)
}
