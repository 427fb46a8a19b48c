//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/pods"
	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// options holds the flags of the command line.
type options struct {
	mib, rounds, several int
	image, bin           string
}

func main() { program.Main("throughput", run) }

func run(ctx context.Context) (err error) {
	var o options
	flag.IntVar(&o.mib, "mib", 256, "send `N` MiB over each stream")
	flag.IntVar(&o.rounds, "rounds", 11, "run `N` rounds with one session")
	flag.IntVar(&o.several, "several", 3, "run `N` rounds with four sessions, and `N` with standard input")
	flag.StringVar(&o.image, "image", "openmpi", "run pods with the image `NAME` of images/")
	flag.StringVar(&o.bin, "bin", "", "use the agent's programs in `DIR` instead of the image's")
	flag.Parse()
	if err := kube.Cluster("MUSTER_KUBECTL"); err != nil {
		return err
	}
	space, err := pods.NewSpace(ctx, "throughput")
	defer func() { err = errors.Join(err, space.Close(ctx)) }()
	if err != nil {
		return err
	}
	w := &world{space: space, job: pods.Job{Name: "stream", Image: o.image, Bin: o.bin, Workers: 1, Looks: true,
		Launcher: []string{"run", "--job=stream", "--workers=1", "--", "sleep", "inf"}, Worker: []string{"worker"}}}
	if err := w.prepare(ctx, o.mib); err != nil {
		return err
	}
	var all []samples
	for _, set := range sets(o) {
		got, err := w.rounds(ctx, set)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		all = append(all, got...)
	}
	return save(ctx, o, all)
}

const command = "make bench-throughput"

// save writes the table and the figures, and prints the figures.
func save(ctx context.Context, o options, all []samples) error {
	version, err := kube.Kubectl(ctx, "default", nil, "version")
	if err != nil {
		return err
	}
	notes := []string{
		strings.Join(strings.Fields(strings.ReplaceAll(version, "\n", "; ")), " "),
		fmt.Sprintf("%d processors for everything: the cluster's own processes, both pods and the measuring program.", runtime.NumCPU()),
		fmt.Sprintf("%d MiB by each stream, %d rounds with one session, %d with four and with standard input. Contenders take turns, in reverse order every second round.", o.mib, o.rounds, o.several),
		"CPU time is by cgroup and includes the program and its reader; the machine's is that of all processes.",
		"Muster's stream is SPDY.",
	}
	table := report.Table{Name: "throughput", Title: "Throughput of a session's streams through the whole path", Order: 50, Over: "sessions",
		Columns: []report.Column{{Name: "throughput", Unit: "MiB/s"}, {Name: "CPU time, launcher's pod", Unit: "ms/MiB"},
			{Name: "CPU time, worker's pod", Unit: "ms/MiB"}, {Name: "CPU time, machine", Unit: "ms/MiB"}},
		Drawn: []int{0, 3}, Command: command}
	rates := map[string][]float64{}
	for _, s := range all {
		row := report.Row{Name: s.Contender, Size: s.Sessions, Cells: make([][]float64, len(table.Columns))}
		lost := 0.0
		for _, t := range s.Transfers {
			for i, v := range []float64{t.rate(), 1000 * t.Launcher / t.mib(), 1000 * t.Worker / t.mib(), 1000 * t.Machine / t.mib()} {
				row.Cells[i] = append(row.Cells[i], v)
			}
			lost += s.Wanted - t.Bytes
		}
		table.Rows = append(table.Rows, row)
		if lost > 0 {
			notes = append(notes, fmt.Sprintf("%s, %d at once, lost %.0f bytes and exited with 0.", s.Contender, s.Sessions, lost))
		}
		if s.Sessions == 1 {
			rates[s.Contender] = row.Cells[0]
		}
	}
	table.Notes = notes
	return errors.Join(report.Save(table), record(all, rates))
}

func record(all []samples, rates map[string][]float64) error {
	over := func(a, b string) figure.Series {
		return figure.Series{Unit: "ratio", Reduce: "ratio", Samples: rates[a], Over: rates[b]}
	}
	return figure.Report(command, "bench-throughput", map[string]any{
		"transfers": all, "stdout": over("Muster", "kubectl exec"), "stdin": over("Muster, standard input", "kubectl exec, standard input"),
	},
		figure.Row{Name: "stdout throughput of one session through the whole path, of kubectl exec's in the same run", Log: "stdout", Op: ">=", Bar: 1},
		figure.Row{Name: "stdin throughput of one session through the whole path, of kubectl exec's in the same run", Log: "stdin"})
}
