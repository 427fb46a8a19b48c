//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// options holds the flags of the command line.
type options struct {
	pairs, workers, launches, blocks, turns int
	settle                                  time.Duration
	image, bin, only                        string
}

func main() { program.Main("steady", run) }

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.pairs, "pairs", 18, "start hpcc with and without Muster `N` times")
	flag.IntVar(&o.workers, "workers", 20, "run the loop on `N` workers")
	flag.IntVar(&o.launches, "launches", 4, "start the loop with and without Muster `N` times")
	flag.IntVar(&o.blocks, "blocks", 8, "count `N` blocks of slices in each launch of the loop")
	flag.IntVar(&o.turns, "turns", 80, "run `N` iterations of the loop in a slice")
	flag.DurationVar(&o.settle, "settle", 65*time.Second, "run the loop for `TIME` before its slices count")
	flag.StringVar(&o.image, "image", "openmpi", "run pods with the image `NAME` of images/")
	flag.StringVar(&o.bin, "bin", "", "use the agent's programs in `DIR` instead of the image's")
	flag.StringVar(&o.only, "only", "", "run only hpl or allreduce [both]")
	flag.Parse()
	if o.only != "" && o.only != "hpl" && o.only != "allreduce" {
		return fmt.Errorf("-only=%s: unknown load: use hpl or allreduce", o.only)
	}
	if err := kube.Cluster("MUSTER_KUBECTL"); err != nil {
		return err
	}
	var all []compared
	for _, l := range loads(o) {
		if o.only != "" && o.only != l.key {
			continue
		}
		c, err := compare(ctx, o, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.key, err)
		}
		all = append(all, c)
	}
	return save(ctx, o, all)
}

const command = "make bench-steady"

// save writes the table and the figures, and prints the notes.
func save(ctx context.Context, o options, all []compared) error {
	version, err := kube.Kubectl(ctx, "default", nil, "version")
	if err != nil {
		return err
	}
	table := report.Table{Name: "steady", Title: "What Muster costs while ranks compute", Order: 70, Over: "workers",
		Columns: []report.Column{{Name: "time of the load", Unit: "s"}, {Name: "CPU time of the agents, by worker", Unit: "% of a core"}},
		Drawn:   []int{0}, Command: command}
	table.Notes = []string{
		strings.Join(strings.Fields(strings.ReplaceAll(version, "\n", "; ")), " ") + "; Open MPI 4.1.4 and hpcc 1.5.0 of Debian 12.",
		fmt.Sprintf("%d processors for ranks, agents and the cluster's own processes.", runtime.NumCPU()),
		fmt.Sprintf("HPL (N %d) by its own clock: %d launches of %d solutions each, a rank on each worker. Both jobs run at the same time and compute in turn, one solution each.", orderOfHPL, o.pairs, timesOfHPL),
		fmt.Sprintf("The loop by rank 0's clock: both jobs run at the same time and compute in turn. A sample is the sum of %d slices of %d turns. There are %d samples in each of %d launches, from %s after a launch on (an Open MPI 4 job's links are parked then).",
			slicesInBlock, o.turns, o.blocks, o.launches, o.settle),
		"Without Muster, PID 1 is a shell that waits in a read.",
	}
	raw, rows := map[string]any{}, []figure.Row(nil)
	for _, c := range all {
		table.Rows = append(table.Rows,
			report.Row{Name: c.load.name + ", without Muster", Size: c.load.workers, Cells: [][]float64{c.Without, nil}},
			report.Row{Name: c.load.name + ", with Muster", Size: c.load.workers, Cells: [][]float64{c.With, c.Agents}})
		low, high := interval(c.With, c.Without, c.load.together)
		table.Notes = append(table.Notes, fmt.Sprintf("%s: the ratio of medians lies between %.4f and %.4f (95 %%, bootstrap over the pairs, of HPL over the launches).", c.load.name, low, high))
		raw[c.load.key] = figure.Series{Unit: "ratio", Reduce: "ratio", Samples: c.With, Over: c.Without}
		rows = append(rows, figure.Row{Name: fmt.Sprintf("%s on %d workers, time with Muster over time without", c.load.name, c.load.workers), Log: c.load.key, Op: "<=", Bar: 1.01})
		if len(c.HeldWith) > 0 {
			raw[c.load.key+"-held"] = figure.Series{Unit: "ratio", Reduce: "ratio", Samples: c.HeldWith, Over: c.HeldWithout}
			rows = append(rows, figure.Row{Name: c.load.name + ", the same while links are held", Log: c.load.key + "-held"})
		}
		if len(c.Agents) > 0 {
			raw["agents"] = figure.Series{Unit: "% of a core", Reduce: "max", Samples: c.Agents}
			rows = append(rows, figure.Row{Name: "CPU of an agent per worker while ranks compute", Log: "agents", Op: "<=", Bar: 0.1})
			table.Notes = append(table.Notes, fmt.Sprintf("Agents: PID 1 and its bridge during the counted slices of the loop; the worst of %d workers and %d launches used %.4f %% of a core.", c.load.workers, o.launches, slices.Max(c.Agents)))
		}
	}
	missed := errors.Join(report.Save(table), figure.Report(command, "bench-steady", raw, rows...))
	for _, note := range table.Notes {
		fmt.Println(note)
	}
	return missed
}
