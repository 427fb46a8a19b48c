//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/test/suite/figure"
)

// size that the bars are for; the bar on requests holds for the second one, too.
const barred, barredToo = 60, 20

func sorted(all results) []int { return slices.Sorted(maps.Keys(all)) }

// raw collects the series that rows stand on.
type raw struct {
	series map[string]figure.Series
	rows   []figure.Row
}

// over adds a row: the median of Muster's samples divided by the median of another's.
func (r *raw) over(all results, skip int, name, other string, bar float64, get func(sample) float64) {
	column := func(s sample) (float64, bool) { return get(s), true }
	mine, theirs := values(all[barred]["muster"], skip, column), values(all[barred][other], skip, column)
	if len(mine) == 0 || len(theirs) == 0 {
		return // left out by -only or -workers
	}
	name = fmt.Sprintf("%d workers, %s, over %s", barred, name, titles[other])
	r.series[name] = figure.Series{Unit: "ratio", Reduce: "ratio", Samples: mine, Over: theirs}
	r.rows = append(r.rows, figure.Row{Name: name, Log: name, Op: "<=", Bar: bar})
}

func recordAll(launches, readies results) error {
	r := raw{series: map[string]figure.Series{}}
	last := func(s sample) float64 { return s.Last }
	cpu := func(s sample) float64 { return s.CPU }
	const start, ready = "mpirun's start to the last rank's first line", "last worker Ready to the last rank's first line"
	r.over(launches, 1, start, "nsenter", 1.15, last)
	r.over(launches, 1, start, "kubexec", 0.5, last)
	r.over(launches, 1, start, "kubexec-slowdns", 0.1, last)
	r.over(launches, 1, start, "ssh", 0.5, last)
	r.over(readies, 0, ready, "kubexec", 0.75, last)
	r.over(readies, 0, ready, "ssh", 0.75, last)
	r.over(launches, 1, "launcher's CPU from mpirun's start", "kubexec", 0.1, cpu)
	r.over(launches, 1, "launcher's CPU from mpirun's start", "ssh", 0.3, cpu)
	r.over(launches, 1, "launcher's CPU, dialling included", "kubexec", 0.15, func(s sample) float64 { return s.Whole })
	r.over(launches, 1, "launcher's memory held", "kubexec", 0.1, func(s sample) float64 { return s.Held })
	for _, size := range []int{barredToo, barred} {
		requests := values(launches[size]["muster"], 1, func(s sample) (float64, bool) { return s.Requests, true })
		if len(requests) == 0 {
			continue
		}
		name := fmt.Sprintf("%d workers, API requests a worker from start to end", size)
		r.series[name] = figure.Series{Unit: "requests", Reduce: "median", Samples: requests}
		r.rows = append(r.rows, figure.Row{Name: name, Log: name, Op: "<=", Bar: 1.5})
	}
	return figure.Report(command, "bench-launch", r.series, r.rows...)
}
