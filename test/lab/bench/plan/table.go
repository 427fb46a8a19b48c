package main

import (
	"fmt"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// play runs every design at every size.
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
		"numbers of a model, not of a cluster: docs/scale.md says where they end")
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
