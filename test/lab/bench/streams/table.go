//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/figure"
)

const command = "make bench-streams"

// column is a column of the table.
type column struct {
	name, unit string
	of         func(sample) float64
}

// process is a process or a group of processes whose metrics are compared.
type process struct {
	name string
	of   func(reading) measure.Server
}

func columns() (list []column) {
	for _, p := range []process{
		{"API server", func(r reading) measure.Server { return r.Server }},
		{"kubelets", func(r reading) measure.Server { return r.Kubelet }},
	} {
		more := func(of func(measure.Server) float64) func(sample) float64 {
			return func(s sample) float64 { return (of(p.of(s.Held[0])) - of(p.of(s.Idle[0]))) / float64(s.Streams) }
		}
		list = append(list,
			column{p.name + ": goroutines a stream", "goroutines", more(func(m measure.Server) float64 { return m.Goroutines })},
			column{p.name + ": memory a stream", "kB", more(func(m measure.Server) float64 { return m.Live / 1e3 })},
			column{p.name + ": CPU a held stream and minute", "ms", func(s sample) float64 {
				return 60e3 * (p.rate(s.Held) - p.rate(s.Idle)) / float64(s.Streams)
			}},
			column{p.name + ": CPU a MiB", "ms", func(s sample) float64 {
				return 1e3 * (p.of(s.Flow[1]).CPUSeconds - p.of(s.Flow[0]).CPUSeconds) / s.MiB
			}})
	}
	return append(list,
		column{"machine: CPU a MiB", "ms", func(s sample) float64 { return 1e3 * (s.Flow[1].Machine - s.Flow[0].Machine) / s.MiB }},
		column{"output", "MiB/s", func(s sample) float64 { return s.MiB / s.Seconds }})
}

// rate returns seconds of CPU time a second.
func (p process) rate(both [2]reading) float64 {
	return (p.of(both[1]).CPUSeconds - p.of(both[0]).CPUSeconds) / both[1].At.Sub(both[0].At).Seconds()
}

// translator returns the process that translates the streams of a round.
func translator(s sample) string {
	switch {
	case s.Transport == remote.SPDY.String():
		return "none"
	case s.Held[0].Kubelet.WebSockets > s.Idle[0].Kubelet.WebSockets:
		return "kubelet"
	}
	return "API server"
}

// String returns the values of all columns.
func (s sample) String() string {
	text := s.Transport + ", translated by " + translator(s)
	for _, c := range columns() {
		text += fmt.Sprintf("; %s %s %s", c.name, report.Number(c.of(s)), c.unit)
	}
	return text
}

// of returns the samples of a transport.
func of(samples []sample, by remote.Transport) (list []sample) {
	for _, s := range samples {
		if s.Transport == by.String() {
			list = append(list, s)
		}
	}
	return list
}

func values(samples []sample, c column) (list []float64) {
	for _, s := range samples {
		list = append(list, c.of(s))
	}
	return list
}

// lines returns the lines of the table for this version.
func (w *world) lines(samples []sample) (lines []string) {
	for _, by := range []remote.Transport{remote.SPDY, remote.WebSocket} {
		own := of(samples, by)
		cells := []string{w.version, by.String(), translator(own[0])}
		for _, c := range columns() {
			cells = append(cells, report.Of(values(own, c)).String())
		}
		lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
	}
	return lines
}

// header returns the first two lines of the table.
func header() string {
	first, second := "| Kubernetes | protocol | translated by", "|---|---|---"
	for _, c := range columns() {
		first += " | " + c.name + ", " + c.unit
		second += "|---:"
	}
	return first + " |\n" + second + "|\n"
}

// table returns the table with new lines, newest version first. It keeps the lines of a page about other versions.
func table(page string, lines []string) string {
	all := slices.Clone(lines)
	_, own, _ := key(lines[0])
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if _, minor, ok := key(line); ok && minor != own && strings.Count(line, "|") == strings.Count(lines[0], "|") {
			all = append(all, line)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		one, _, _ := key(a)
		other, _, _ := key(b)
		return other - one
	})
	return header() + strings.Join(all, "\n") + "\n"
}

// key returns the version of a line of the table, as a number and as text.
func key(line string) (number int, minor string, ok bool) {
	minor, _, _ = strings.Cut(strings.TrimPrefix(line, "| "), " | ")
	text, ok := strings.CutPrefix(minor, "1.")
	if !strings.HasPrefix(line, "| ") || !ok {
		return 0, "", false
	}
	number, err := strconv.Atoi(text)
	return number, minor, err == nil
}

// id names a column's series of a transport in the raw numbers.
func id(by remote.Transport, column int) string { return fmt.Sprintf("%s %d", by, column) }

// raw returns the raw numbers of the figures.
func (w *world) raw(samples []sample) map[string]any {
	raw := map[string]any{"conditions": w.conditions(), "samples": samples}
	for _, by := range []remote.Transport{remote.SPDY, remote.WebSocket} {
		for i, c := range columns() {
			raw[id(by, i)] = figure.Series{Unit: c.unit, Reduce: "median", Samples: values(of(samples, by), c)}
		}
	}
	return raw
}

// rows returns the figures. A lost byte or a cut stream ends a round with an error, so they need no bars.
func (w *world) rows(samples []sample) (rows []figure.Row) {
	for _, by := range []remote.Transport{remote.SPDY, remote.WebSocket} {
		for i, c := range columns() {
			rows = append(rows, figure.Row{Name: fmt.Sprintf("%d streams by %s on Kubernetes %s: %s", w.options.workers, by, w.version, c.name), Log: id(by, i)})
		}
	}
	return rows
}
