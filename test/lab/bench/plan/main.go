package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "plan: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	sizes := flag.String("workers", "1000,10000,100000", "simulate launches of `SIZES` workers")
	fanout := flag.Int("fanout", 64, "each relay of a tree dials `N` workers")
	seed := flag.Uint64("seed", 10, "`N` seeds the random variation of the costs; 0: no variation")
	flag.Parse()
	if *fanout < 2 {
		return fmt.Errorf("-fanout=%d: a tree needs at least 2", *fanout)
	}
	var ns []int
	for word := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-workers: invalid number of workers: %q", word)
		}
		ns = append(ns, n)
	}
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	tables, err := report.Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	costs, list, err := readCosts(costsFile, tables)
	if err != nil {
		return err
	}
	printCosts(list)
	checks := compare(costs, tables, *fanout, *seed)
	fmt.Println("\ncompared with measurements:\n" + checks + fmt.Sprintf("\nseed %d", *seed))
	t := play(costs, large(), ns, *fanout, *seed)
	t.Notes = append(t.Notes, fmt.Sprintf("%d of %d costs are assumed, the others were measured: test/lab/bench/plan/costs.json has the list", assumed(list), len(list)))
	fmt.Println(t.Text())
	return report.Save(t)
}

func printCosts(list []Cost) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", c.Name, report.Number(c.Value), c.Unit, c.Known, c.What, c.Where)
	}
	_ = w.Flush() // it writes to the terminal
}

// play simulates every design at every size.
func play(costs Costs, s site, sizes []int, fanout int, seed uint64) report.Table {
	t := report.Table{
		Name: "plan", Title: "Simulated: launches beyond this machine", Order: 90, Over: "workers", Command: "make bench-plan", Drawn: []int{1, 3, 4, 5},
		Columns: []report.Column{
			{Name: "until all are greeted", Unit: "s"}, {Name: "until the last rank's first line", Unit: "s"},
			{Name: "launcher's CPU", Unit: "s"}, {Name: "launcher's memory", Unit: "MB"}, {Name: "API servers' CPU", Unit: "s"},
			{Name: "API servers' goroutines at most"}, {Name: "API servers' goroutines held"}, {Name: "API servers' memory held", Unit: "MB"},
			{Name: "API requests"}, {Name: "API requests in the busiest second"}, {Name: "longest dial by exec", Unit: "s"},
		},
	}
	for _, n := range sizes {
		for _, d := range designs() {
			r := launch(costs, s, d, n, fanout, seed)
			t.Rows = append(t.Rows, report.Row{Name: d.name, Size: n, Cells: [][]float64{
				{r.Greeted}, {r.Launched}, {r.LauncherCPU}, {r.LauncherMB}, {r.ServerCPU},
				{r.PeakGoroutines}, {r.Goroutines}, {r.ServerMB}, {float64(r.Requests)}, {float64(r.PeakRequests)}, {r.Longest},
			}})
		}
	}
	t.Notes = append(t.Notes,
		fmt.Sprintf("launcher: %d cores; API servers: %d of %d cores; nodes of %d cores with %d workers each; trees of fan-out %d; seed %d",
			s.LauncherCores, s.Servers, s.ServerCores, s.NodeCores, s.PerNode, fanout, seed),
		"these numbers are from a model, not from a cluster: docs/operations/scale.md has its limits")
	return t
}

func assumed(list []Cost) (n int) {
	for _, c := range list {
		if c.Known == "assumed" {
			n++
		}
	}
	return n
}

// compare returns a list of the launches in the tables "scale" and "network", each with the measured
// time and the time in the model.
func compare(costs Costs, tables []report.Table, fanout int, seed uint64) string {
	costs.Way = 0
	kwok, farms := costs, costs
	kwok.NodeExec, farms.ProcessStart = costs.KwokExec, costs.FarmStart
	all := designs()
	machine := site{Servers: 1, PerNode: 1 << 20, Shared: runtime.NumCPU()}
	var b strings.Builder
	for _, column := range []struct {
		table, row, name string
		of               func(result) float64
		costs            Costs
		design           design
	}{
		{"scale", "Muster", "rendezvous and handshake", func(r result) float64 { return r.Greeted }, kwok, all[0]},
		{"scale", "Muster", "rendezvous, handshake and launch", func(r result) float64 { return r.Launched }, kwok, all[0]},
		{"network", "--transport=network", "last first line", func(r result) float64 { return r.Launched }, farms, all[len(all)-1]},
		{"network", "--transport=network", "launcher's memory at its peak", func(r result) float64 { return r.LauncherMB }, farms, all[len(all)-1]},
	} {
		for _, n := range sizesOf(tables, column.table) {
			samples, _ := cell(tables, column.table, column.row, column.name, n)
			if len(samples) == 0 {
				continue
			}
			measured, model := report.Of(samples), column.of(launch(column.costs, machine, column.design, n, fanout, seed))
			fmt.Fprintf(&b, "- table %s, %s, %d workers: measured %s, in the model %s: %+.0f %%\n", column.table, column.name, n, measured, report.Number(model), 100*(model/measured.Median-1))
		}
	}
	if b.Len() == 0 {
		return "- no measurements yet: run `make bench-scale bench-network`\n"
	}
	return b.String()
}

// sizesOf returns the sizes of a table's rows.
func sizesOf(tables []report.Table, name string) (sizes []int) {
	for _, t := range tables {
		for _, r := range t.Rows {
			if t.Name == name {
				sizes = append(sizes, r.Size)
			}
		}
	}
	return sizes
}
