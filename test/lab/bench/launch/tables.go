//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

const command = "make bench-launch"

// titles are the names of the contenders in the tables.
var titles = map[string]string{
	"kubexec": "kubexec.sh", "kubexec-unknown": "kubexec.sh, names unknown",
	"kubexec-slowdns": "kubexec.sh, names unknown, slow DNS", "ssh": "ssh", "muster": "Muster",
	"nsenter": "mpirun's floor (nsenter)", execFloor: "exec floor (client-go)",
}

// rows returns the rows of a table: for each contender and size, its samples without the first skip ones.
func rows(all results, skip int, columns ...func(sample) (float64, bool)) (list []report.Row) {
	for _, name := range names() {
		for _, size := range sorted(all) {
			samples := all[size][name]
			if len(samples) == 0 {
				continue
			}
			row := report.Row{Name: titles[name], Size: size, Cells: make([][]float64, len(columns))}
			for i, column := range columns {
				row.Cells[i] = values(samples, skip, column)
			}
			list = append(list, row)
		}
	}
	return list
}

func saveLaunches(all results, notes []string) error {
	if len(all) == 0 {
		return nil
	}
	launcher := func(get func(sample) float64) func(sample) (float64, bool) {
		return func(s sample) (float64, bool) { return get(s), s.Held > 0 && s.Requests > 0 } // only of contenders with a launcher, not of the floors
	}
	t := report.Table{
		Name: "launch", Title: "mpirun's start to the last rank's first line, and what it costs", Order: 10, Over: "workers", Command: command, Drawn: []int{0, 1, 4},
		Columns: []report.Column{{Name: "last rank's first line", Unit: "s"}, {Name: "launcher's CPU from mpirun's start", Unit: "s"},
			{Name: "with dialling", Unit: "s"}, {Name: "launcher's memory, peak of launch", Unit: "MB"}, {Name: "held", Unit: "MB"},
			{Name: "API requests a worker", Unit: "requests"}, {Name: "exec streams while it runs", Unit: "streams"}},
		Rows: rows(all, 1, timed, launcher(func(s sample) float64 { return s.CPU }), launcher(func(s sample) float64 { return s.Whole }),
			never, launcher(func(s sample) float64 { return s.Held }), launcher(func(s sample) float64 { return s.Requests }),
			launcher(func(s sample) float64 { return s.Streams })),
		Notes: append([]string{
			"All contenders use the same image, pods, mpirun and ranks: one rank a worker, `sh -c 'echo rank N; exec sleep 3'`, no MPI_Init. Contenders take turns, after one warm-up round. In every second round they do so in reverse order.",
			"kubexec.sh: mpi-operator v1's settings. Its tree launch is flat below 65 workers, so each kubectl stays for the job's life. The names are in the launcher's hosts file, or unknown. For unknown names the cluster's own DNS answers at once. The slow one answers after half a second a name, like a DNS that asks another one outside the cluster. kubectl starts with an empty cache, as in a new launcher.",
			"ssh: mpi-operator v2's settings, but with addresses instead of names, which saves it DNS; sshd as Debian configures it, an ECDSA P-521 key.",
			"Muster: `agent run` with its defaults (plm_rsh_no_tree_spawn=1, plm_rsh_num_concurrent=128). Its links are connected before mpirun starts, and parked a minute later. It lowers mpirun's soft limit of open files, because Open MPI closes each of them for each worker; the operators leave the node's limit. The floor has the same settings. Processes that its agent starts have the same capabilities and limit of files as under Muster. (With all capabilities hwloc reads more devices, and each daemon takes half as long again.)",
			"CPU: from mpirun's start to the launcher's end. With dialling: from the launcher's start, including rendezvous or wait. Peak memory: PSS every 100 ms in the warm-up round. Memory and streams held: a second after the last rank's line.",
		}, notes...),
	}
	// The peak was sampled in the warm-up round, which all other columns leave out.
	for i, row := range rows(all, 0, func(s sample) (float64, bool) { return s.Peak, s.Peak > 0 && s.Requests > 0 }) {
		t.Rows[i].Cells[3] = row.Cells[0]
	}
	return report.Save(t)
}

func saveReadies(all results, notes []string) error {
	if len(all) == 0 {
		return nil
	}
	return report.Save(report.Table{
		Name: "ready", Title: "the last worker's Ready to the last rank's first line", Order: 20, Over: "workers", Command: command, Drawn: []int{0},
		Columns: []report.Column{{Name: "last rank's first line", Unit: "s"}}, Rows: rows(all, 0, timed),
		Notes: append([]string{
			"Each contender gets new workers in each round, with its own PID 1: sleep, sshd, agent worker. The launcher exists before them. Ready is the condition as a separate watch sees it.",
			"kubexec.sh and ssh wait by a watch, as kubectl-delivery does, and continue at once: no init container that has to end, no retries. That is faster than with either operator.",
		}, notes...),
	})
}

// timed returns the time of the last rank's first line.
func timed(s sample) (float64, bool) { return s.Last, true }

// never has no value: its column is filled in later.
func never(sample) (float64, bool) { return 0, false }

// values returns one column's values without the first skip samples.
func values(samples []sample, skip int, column func(sample) (float64, bool)) (list []float64) {
	list = []float64{} // not nil, which JSON would write as null
	for _, s := range samples[min(skip, len(samples)):] {
		if v, ok := column(s); ok {
			list = append(list, v)
		}
	}
	return list
}

// versions returns the versions of all programs, and the machine, as a note.
func (w *world) versions(ctx context.Context) ([]string, error) {
	kubernetes, err := kube.Kubectl(ctx, w.ns, nil, "version")
	if err != nil {
		return nil, err
	}
	out, err := w.launchers[musterPod].enter(ctx, "mpirun --version | head -n 1; ssh -V 2>&1; agent version; echo limit of open files $(ulimit -Sn)").Output()
	if err != nil {
		return nil, fmt.Errorf("ask for versions: %w", err)
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	cpus, err := exec.CommandContext(ctx, "nproc", "--all").Output()
	if err != nil {
		return nil, err
	}
	list := strings.Split(strings.TrimSpace(kubernetes+string(out)), "\n")
	where := fmt.Sprintf("two nodes on one machine with %s cores, Linux %s", strings.TrimSpace(string(cpus)), strings.TrimSpace(string(kernel)))
	return []string{"Versions: " + strings.Join(list, "; ") + "; " + where + "."}, nil
}

// barred is the size that the bars are for. The bar on requests applies to barredToo as well.
const barred, barredToo = 60, 20

func sorted(all results) []int { return slices.Sorted(maps.Keys(all)) }

// raw collects the rows of figures and the series that they are computed from.
type raw struct {
	series map[string]figure.Series
	rows   []figure.Row
}

// over adds a row: the median of the rounds' ratios of Muster's sample to another's.
func (r *raw) over(all results, skip int, name, other string, bar float64, get func(sample) float64) {
	column := func(s sample) (float64, bool) { return get(s), true }
	mine, theirs := values(all[barred]["muster"], skip, column), values(all[barred][other], skip, column)
	if len(mine) == 0 || len(theirs) == 0 {
		return // left out by -only or -workers
	}
	name = fmt.Sprintf("%d workers, %s, over %s", barred, name, titles[other])
	r.series[name] = figure.Series{Unit: "ratio", Reduce: "pairs", Samples: mine, Over: theirs}
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
	if checks := values(launches[barred]["muster"], 1, func(s sample) (float64, bool) { return s.Preflight, true }); len(checks) > 0 {
		name := fmt.Sprintf("%d workers, preflight in the time from the launcher's start to the last rank's first line", barred)
		whole := values(launches[barred]["muster"], 1, func(s sample) (float64, bool) { return s.Ready + s.Last, true })
		r.series[name] = figure.Series{Unit: "ratio", Reduce: "ratio", Samples: checks, Over: whole}
		r.rows = append(r.rows, figure.Row{Name: name, Log: name, Op: "<=", Bar: 0.1})
	}
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
