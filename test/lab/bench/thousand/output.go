//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

// rate is how many lines each rank writes per second.
const rate = 10

// outcome holds the results of one run.
type outcome struct {
	Size          int
	Played        bool    // all workers are simulated by one process
	Lines, Lost   int     // lines written; of these, lines missing, duplicate or out of order
	P50, P99, Max float64 // seconds from a rank's write to our read
	LauncherCPU   float64 // in cores, while the lines arrived
	ServerCPU     float64 // of the API server
	NodesCPU      float64 // of the kubelet's side, without its workers and ranks
	MachineCPU    float64 // of all processes on this machine
	LauncherMB    float64 // peak
	Span          float64 // seconds from the first line to the last
}

// output makes all ranks write at the same time, for a number of seconds.
func (w *world) output(ctx context.Context, size, seconds int, played bool) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+5*time.Minute)
	defer cancel()
	lines := 0
	if played {
		lines = seconds * rate
	}
	f, err := w.startFarm(ctx, size, lines)
	if err != nil {
		return o, err
	}
	o.Size, o.Played = size, played
	if err := w.print(ctx, &o, f, seconds); err != nil {
		f.kill()
		return o, err
	}
	_, err = f.end(size)
	return o, err
}

func (w *world) print(ctx context.Context, o *outcome, f *farm, seconds int) error {
	p, err := listenPrinter(w.gatePath() + ".sock")
	if err != nil {
		return err
	}
	defer p.close()
	l, err := w.launch(o.Size, "print")
	if err != nil {
		return err
	}
	defer l.kill()
	if !o.Played {
		if err := p.gather(ctx, o.Size); err != nil {
			return fmt.Errorf("%w\n%s", err, l.lastWords())
		}
	}
	if _, err := l.allBegun(ctx, o.Size); err != nil {
		return err
	}
	if err := await.Pause(ctx, calm-time.Second); err != nil {
		return err
	}
	before, err := w.spent(ctx, l, f)
	if err != nil {
		return err
	}
	printed := make(chan error, 1)
	go func() {
		defer func() { _ = l.release() }()
		defer p.close()
		if o.Played {
			printed <- nil // simulated workers write the lines themselves
			return
		}
		printed <- p.print(ctx, seconds*rate, rate)
	}()
	t := newTimes(o.Size, seconds*rate)
	for one := range l.lines {
		t.take(one)
	}
	if err := <-printed; err != nil {
		return fmt.Errorf("%w\n%s", err, l.lastWords())
	}
	result, err := l.wait(ctx)
	if err != nil {
		return err
	}
	if result.Redials > 0 {
		return fmt.Errorf("%d links broke", result.Redials)
	}
	after, err := w.spent(ctx, l, f)
	if err != nil {
		return err
	}
	if len(t.late) == 0 {
		return errors.New("no lines arrived")
	}
	o.Lines, o.Lost = o.Size*seconds*rate, t.lost()
	o.Span = t.last.Sub(t.first).Seconds()
	o.P50, o.P99, o.Max = t.part(0.5), t.part(0.99), t.part(1)
	o.LauncherCPU, o.LauncherMB = (after.launcher-before.launcher)/o.Span, l.last.Load().PeakMB
	o.ServerCPU, o.NodesCPU = (after.server-before.server)/o.Span, (after.nodes-before.nodes)/o.Span
	o.MachineCPU = (after.machine - before.machine) / o.Span
	return nil
}

// spent is the CPU time of all components, in seconds.
type spent struct{ launcher, server, nodes, machine float64 }

func (w *world) spent(ctx context.Context, l *launcher, f *farm) (spent, error) {
	server, err := w.Server(ctx)
	nodes, nerr := f.usage()
	machine, merr := measure.MachineCPU()
	return spent{l.last.Load().CPUSeconds, server.CPUSeconds, nodes.CPUSeconds, machine}, errors.Join(err, nerr, merr)
}

// times records the delays of lines.
type times struct {
	each        int   // lines per rank
	next        []int // by rank: the next expected line
	wrong       int   // unexpected lines
	late        []float64
	first, last time.Time
}

func newTimes(ranks, each int) *times { return &times{each: each, next: make([]int, ranks)} }

func (t *times) take(l line) {
	if l.kind != "line" {
		return
	}
	if l.rank < 0 || l.rank >= len(t.next) || l.seq != t.next[l.rank] {
		t.wrong++
		return
	}
	t.next[l.rank]++
	t.late = append(t.late, l.came.Sub(l.said).Seconds())
	if t.first.IsZero() {
		t.first = l.came
	}
	t.last = l.came
}

// lost counts the lines that are missing, duplicate or out of order.
func (t *times) lost() int {
	lost := t.wrong
	for _, n := range t.next {
		lost += t.each - n
	}
	return lost
}

// part returns a quantile of the delays.
func (t *times) part(of float64) float64 {
	sorted := slices.Sorted(slices.Values(t.late))
	return sorted[min(len(sorted)-1, int(of*float64(len(sorted))))]
}

func (o outcome) String() string {
	return fmt.Sprintf("%d ranks, played %t: %d lines, %d lost; late by %.3f s at p50, %.3f s at p99, %.3f s at most", o.Size, o.Played, o.Lines, o.Lost, o.P50, o.P99, o.Max)
}

// notes returns the versions, and the conditions of the measurements.
func (w *world) notes(ctx context.Context) ([]string, error) {
	text, err := kube.Kubectl(ctx, space, nil, "get", "--raw", "/version")
	if err != nil {
		return nil, err
	}
	var server struct{ GitVersion string }
	if err := json.Unmarshal([]byte(text), &server); err != nil {
		return nil, fmt.Errorf("read the API server's version: %w", err)
	}
	agent, err := kube.Program(ctx, nil, filepath.Join(w.bin, "agent"), "version")
	if err != nil {
		return nil, err
	}
	kwokVersion, err := kwok.Version()
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("kube-apiserver %s with etcd, kwok %s, %s, %s", server.GitVersion, kwokVersion, strings.TrimSpace(agent), runtime.Version()),
		fmt.Sprintf("%d processors for everything: launcher, API server, etcd, the kubelet's side, and the workers themselves", runtime.NumCPU()),
		"each worker is a real `agent worker`, PID 1 of its own namespace, started before; pods and nodes are simulated by kwok, and are Running before",
		"pods/exec goes from the API server to one HTTPS server of ours, which plays all kubelets and connects each stream to its PID 1's socket. " +
			"There is no container runtime and no `agent attach` in between, and no kubelet asks the API server who may exec",
		"the launcher is `agent run --framework=plain`, a process on this machine with a token of the Role in test/e2e/manifests/pi.yaml",
	}, nil
}

// column is a column of a table, computed from a measurement.
type column[T any] struct {
	name, unit string
	of         func(T) float64
	drawn      bool
}

// table makes a table from measurements, with a row for each name and size.
func table[T any](t report.Table, all []T, row func(T) (name string, size int), columns []column[T]) report.Table {
	type key struct {
		name string
		size int
	}
	at := map[key]int{}
	for i, c := range columns {
		t.Columns = append(t.Columns, report.Column{Name: c.name, Unit: c.unit})
		if c.drawn {
			t.Drawn = append(t.Drawn, i)
		}
	}
	for _, one := range all {
		name, size := row(one)
		i, known := at[key{name, size}]
		if !known {
			i = len(t.Rows)
			at[key{name, size}] = i
			t.Rows = append(t.Rows, report.Row{Name: name, Size: size, Cells: make([][]float64, len(columns))})
		}
		for c, column := range columns {
			t.Rows[i].Cells[c] = append(t.Rows[i].Cells[c], column.of(one))
		}
	}
	return t
}

// recordScale saves the table and the figures with bars.
func recordScale(o options, all []run, notes []string) error {
	command := "make bench-scale"
	notes = append(notes[:len(notes):len(notes)],
		"launch: from the launcher's start until the last rank's first line arrives on its standard output; rendezvous is the part until all workers have answered the handshake",
		"a launch of the largest size comes first and is not counted; the smallest size is launched twice in each round",
		fmt.Sprintf("held for %s in the first round, for %s in the others; a quantity per worker is the total divided by the number of workers", o.hold, min(brief, o.hold)),
		"the API server keeps memory that it has once used: its memory per worker is the growth of its resident set, which may date from an earlier round")
	t := table(report.Table{Name: "scale", Title: "One launcher and so many workers, on nodes that kwok plays", Order: 60, Over: "workers", Command: command, Notes: notes},
		all, func(r run) (string, int) { return "Muster", r.Size }, []column[run]{
			{"rendezvous and handshake", "s", func(r run) float64 { return r.Rendezvous }, false},
			{"rendezvous, handshake and launch", "s", func(r run) float64 { return r.Launched }, true},
			{"launcher's memory at its peak", "MB", func(r run) float64 { return r.PeakMB }, true},
			{"launcher's CPU until all have begun", "s", func(r run) float64 { return r.LauncherS }, true},
			{"API server's CPU until then", "s", func(r run) float64 { return r.ServerS }, false},
			{"kubelet side's CPU until then", "s", func(r run) float64 { return r.NodesS }, false},
			{"all CPU of the machine until then", "s", func(r run) float64 { return r.MachineS }, false},
			{"API requests per worker, start to end", "requests", func(r run) float64 { return r.Requests }, false},
			{"streams held", "streams", func(r run) float64 { return r.Streams }, false},
			{"API server's goroutines per worker, held", "goroutines", func(r run) float64 { return r.Goroutines }, false},
			{"API server's memory per worker, held", "MB", func(r run) float64 { return r.ServerMB }, false},
			{"launcher's CPU while held", "of a core", func(r run) float64 { return r.HoldingCPU }, false},
			{"API server's CPU while held", "of a core", func(r run) float64 { return r.ServerCPU }, false},
			{"from the ranks' end to the launcher's", "s", func(r run) float64 { return r.Ended }, false},
		})
	most, least := o.most(), o.sizes[0]
	series := func(unit string, size int, of func(run) float64) figure.Series {
		return figure.Series{Unit: unit, Reduce: "median", Samples: samples(all, size, of)}
	}
	growth := func(of func(run) float64) figure.Series {
		each := func(r run) float64 { return of(r) / float64(r.Size) }
		return figure.Series{Unit: "of that", Reduce: "ratio", Samples: samples(all, most, each), Over: samples(all, least, each)}
	}
	launched, peak := func(r run) float64 { return r.Launched }, func(r run) float64 { return r.PeakMB }
	name := fmt.Sprintf("%d workers: ", most)
	over := fmt.Sprintf(" per worker, over that at %d workers", least)
	return errors.Join(report.Save(t), figure.Report(command, "bench-scale", map[string]any{
		"runs": all, "time": series("s", most, launched), "memory": series("MB", most, peak),
		"time growth": growth(launched), "memory growth": growth(peak),
		"requests": series("requests", most, func(r run) float64 { return r.Requests }),
	},
		figure.Row{Name: name + "rendezvous, handshake and launch", Log: "time", Op: "<=", Bar: 15},
		figure.Row{Name: name + "launcher's memory at its peak", Log: "memory", Op: "<=", Bar: 200},
		figure.Row{Name: name + "time of rendezvous, handshake and launch" + over, Log: "time growth", Op: "<=", Bar: 1},
		figure.Row{Name: name + "launcher's memory" + over, Log: "memory growth", Op: "<=", Bar: 1},
		figure.Row{Name: name + "API requests per worker, start to end", Log: "requests", Op: "<=", Bar: 1.5},
	))
}

func samples(all []run, size int, of func(run) float64) (list []float64) {
	for _, r := range all {
		if r.Size == size {
			list = append(list, of(r))
		}
	}
	return list
}

// recordOutput saves the table and the figures with bars. The bar on delays applies to runs with simulated
// workers.
func recordOutput(all []outcome, o options, notes []string) error {
	command := "make bench-output"
	notes = append(notes[:len(notes):len(notes)],
		fmt.Sprintf("every rank gets %d lines a second for %d s, with the ranks' turns spread evenly over a tenth of a second; one process writes them all", rate, o.seconds),
		"workers on their own: each rank is a process with a pipe to its `agent worker`, as in a pod. A thousand workers that wake up ten times a second are too much for these processors",
		"workers played: one process speaks the protocol of all workers, with their flow control, and writes the lines into it; launcher, API server and the streams between them are unchanged. The bar applies to these",
		"a line's delay is the time from its rank's write to our read of the launcher's standard output, a pipe; all lines of all ranks and rounds count",
		"CPU is counted until the launcher has ended; the CPU of workers on their own, and of the writer, is only in that of the machine")
	t := table(report.Table{Name: "output", Title: "Lines of all ranks at once", Order: 65, Over: "ranks", Command: command, Notes: notes},
		all, func(o outcome) (string, int) { return o.workers(), o.Size }, []column[outcome]{
			{"late by, p50", "s", func(o outcome) float64 { return o.P50 }, true},
			{"late by, p99", "s", func(o outcome) float64 { return o.P99 }, true},
			{"late by, at most", "s", func(o outcome) float64 { return o.Max }, true},
			{"lines", "lines", func(o outcome) float64 { return float64(o.Lines) }, false},
			{"lines lost", "lines", func(o outcome) float64 { return float64(o.Lost) }, false},
			{"launcher's CPU", "of a core", func(o outcome) float64 { return o.LauncherCPU }, false},
			{"API server's CPU", "of a core", func(o outcome) float64 { return o.ServerCPU }, false},
			{"kubelet side's CPU", "of a core", func(o outcome) float64 { return o.NodesCPU }, false},
			{"all CPU of the machine", "of a core", func(o outcome) float64 { return o.MachineCPU }, false},
			{"launcher's memory at its peak", "MB", func(o outcome) float64 { return o.LauncherMB }, false},
		})
	late, lost := figure.Series{Unit: "s", Reduce: "max"}, figure.Series{Unit: "lines", Reduce: "sum"}
	for _, one := range all {
		lost.Samples = append(lost.Samples, float64(one.Lost))
		if one.Played {
			late.Samples = append(late.Samples, one.Max)
		}
	}
	name := fmt.Sprintf("%d ranks each printing %d lines/s: ", o.most(), rate)
	return errors.Join(report.Save(t), figure.Report(command, "bench-output", map[string]any{"outcomes": all, "late": late, "lost": lost},
		figure.Row{Name: name + "the latest line", Log: "late", Op: "<=", Bar: 1},
		figure.Row{Name: name + "lines lost", Log: "lost", Op: "=="},
	))
}

// workers returns the name of the outcome's row.
func (o outcome) workers() string {
	if o.Played {
		return "workers played"
	}
	return "workers on their own"
}
