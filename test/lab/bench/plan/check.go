package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
)

// compare says what the model makes of the launches that the table "scale" has
// measured, beside that: as a list.
func compare(costs Costs, tables []report.Table, seed uint64) string {
	costs.NodeExec, costs.Way = costs.KwokExec, 0
	machine := site{Servers: 1, PerNode: 1 << 20, Shared: runtime.NumCPU()}
	var b strings.Builder
	for _, column := range []struct {
		name string
		of   func(result) float64
	}{
		{"rendezvous and handshake", func(r result) float64 { return r.Greeted }},
		{"rendezvous, handshake and launch", func(r result) float64 { return r.Launched }},
	} {
		for _, n := range sizesOf(tables, "scale") {
			samples, _ := cell(tables, "scale", "Muster", column.name, n)
			if len(samples) == 0 {
				continue
			}
			measured, model := report.Of(samples), column.of(launch(costs, machine, designs()[0], n, 0, seed))
			fmt.Fprintf(&b, "- %s, %d workers: measured %s s, the model %s s: %+.0f %%\n", column.name, n, measured, report.Number(model), 100*(model/measured.Median-1))
		}
	}
	if b.Len() == 0 {
		return "- not yet: `make bench-scale` measures it\n"
	}
	return b.String()
}

// sizesOf are the sizes of a table's rows.
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
