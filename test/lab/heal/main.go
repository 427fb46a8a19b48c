//go:build linux

package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/test/lab/table"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/hangs"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

//go:embed testdata/*.py
var scripts embed.FS

// options holds the flags of the command line.
type options struct {
	rows              string
	ci, list, verbose bool
	times, parallel   int
}

func main() { program.Main("heal", run) }

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.rows, "rows", "", "run only these `ROWS` and the rows below them, separated by commas [all]")
	flag.BoolVar(&o.ci, "ci", false, "run only the rows that CI runs, each once")
	flag.BoolVar(&o.list, "list", false, "list the rows")
	flag.BoolVar(&o.verbose, "v", false, "show the launcher's output of every run")
	flag.IntVar(&o.times, "times", 0, "run each row `N` times [the row's own number]")
	flag.IntVar(&o.parallel, "parallel", 1, "run `N` rows at once, except rows that run alone")
	flag.Parse()
	list := chosen(rows(), o)
	if len(list) == 0 {
		return fmt.Errorf("-rows=%s: no such row; -list lists all rows", o.rows)
	}
	if o.list {
		for _, r := range list {
			fmt.Printf("%-18s %2d  %s\n", r.key, r.times, r.what)
		}
		return nil
	}
	if err := kube.Cluster("MUSTER_CLUSTER"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mh")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	results := runAll(ctx, o, list, dir)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return report(results)
}

// runAll runs rows, o.parallel at once, and then the rows that run alone, one by one. It returns the results in the
// order of the list.
func runAll(ctx context.Context, o options, list []row, dir string) (results []result) {
	byRow := make([][]result, len(list))
	for _, single := range []bool{false, true} {
		var running errgroup.Group
		running.SetLimit(max(o.parallel, 1))
		if single {
			running.SetLimit(1)
		}
		for i, r := range list {
			if r.single != single {
				continue
			}
			running.Go(func() error {
				for n := 0; n < r.times && ctx.Err() == nil; n++ {
					byRow[i] = append(byRow[i], runOnce(ctx, o, r, n, dir))
				}
				return nil
			})
		}
		_ = running.Wait() // a failure is in the results
	}
	return slices.Concat(byRow...)
}

// noted records whether the launcher reported a hang.
func noted(key string, took time.Duration, w *world) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	return hangs.Note(dir, "heal", key, took, strings.Join(w.text(), "\n"))
}

// runOnce runs a row once.
func runOnce(ctx context.Context, o options, r row, n int, dir string) result {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.deadline())
	defer cancel()
	res := result{Key: r.key, What: r.what, Run: n + 1, Wanted: !r.printed}
	w, err := play(ctx, r, dir)
	if err == nil {
		res.Seen, err = judge(w, r)
	}
	if w != nil && !hangs.Asked(r.flags) {
		err = errors.Join(err, noted(r.key, time.Since(began), w))
	}
	res.Pass, res.Seconds = err == nil, time.Since(began).Seconds()
	if err != nil {
		res.Why = strings.Join(strings.Fields(err.Error()), " ")
	}
	if w != nil {
		res.Figures, res.Old, res.Ports = w.figures, w.old(), w.portsTwice()
	}
	fmt.Fprintf(os.Stderr, "heal: %s, run %d: %s, %.0f s: %s %s\n", r.key, n+1, verdict(res), res.Seconds, res.Seen, res.Why)
	if w != nil && (err != nil || o.verbose) {
		fmt.Fprintf(os.Stderr, "--- the launcher of %s\n%s\n---\n", r.key, strings.Join(w.text(), "\n"))
	}
	return res
}

// chosen returns the rows of a list of keys. A key also selects the rows below it.
func chosen(all []row, o options) (list []row) {
	for _, r := range all {
		if o.ci && !r.ci || !table.Asked(o.rows, r.key) {
			continue
		}
		r.times = max(r.times, 1)
		if o.ci {
			r.times = 1
		}
		if o.times > 0 {
			r.times = o.times
		}
		list = append(list, r)
	}
	return list
}

// result is one run of a row.
type result struct {
	Key     string             `json:"key"`
	What    string             `json:"what"`
	Run     int                `json:"run"`
	Wanted  bool               `json:"wanted"` // false: only shown for comparison
	Pass    bool               `json:"pass"`
	Seen    string             `json:"seen,omitempty"`
	Why     string             `json:"why,omitempty"`
	Seconds float64            `json:"seconds"`
	Old     int                `json:"old"`   // processes of an earlier attempt that ran during a later one
	Ports   int                `json:"ports"` // ports used by two attempts
	Figures map[string]float64 `json:"figures,omitempty"`
}

func verdict(r result) string {
	switch {
	case r.Pass && r.Wanted:
		return "pass"
	case r.Wanted:
		return "FAIL"
	}
	return "shown"
}

// bars are the bars of the figures. Figures without a bar are only recorded.
var bars = map[string]float64{
	"seconds from a rank's death to the new attempt's first line, 20 workers, without the program's own start": 3,
	"seconds from a pod's deletion to the new attempt's first line":                                            90,
	"seconds from a node's loss to the new attempt's first line":                                               90,
	"seconds from the last of 20 members being ready to the first rank's line":                                 1,
}

// report prints the table, and writes heal.json and the figures. It returns an error if a
// run failed.
func report(results []result) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := show(results); err != nil {
		return err
	}
	if err := figure.Save(dir, "heal.json", results); err != nil {
		return err
	}
	if err := record(dir, results); err != nil {
		return err
	}
	for _, r := range results {
		if r.Wanted && !r.Pass {
			return errors.New("some runs failed")
		}
	}
	return nil
}

func show(results []result) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "row\truns\tpassed\tevent\tlast observation")
	for _, key := range keys(results) {
		runs, passed, last := 0, 0, result{}
		for _, r := range results {
			if r.Key == key {
				runs++
				if r.Pass && (r.Wanted || r.recovered()) {
					passed++
				}
				last = r
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", key, runs, passed, last.What, cmp.Or(last.Why, last.Seen))
	}
	return t.Flush()
}

// recovered reports whether a run that is only shown succeeded by itself.
func (r result) recovered() bool { return r.Seen == "ended with 0" }

func keys(results []result) (list []string) {
	for _, r := range results {
		if !slices.Contains(list, r.Key) {
			list = append(list, r.Key)
		}
	}
	return list
}

// record writes the figures with their raw data.
func record(dir string, results []result) error {
	failed := map[string]int{}
	series := map[string]figure.Series{}
	old, ports := 0, 0
	for _, r := range results {
		if r.Wanted && !r.Pass {
			failed[r.Key]++
		} else if r.Wanted {
			failed[r.Key] += 0
		}
		if r.Wanted { // torchrun's own restarts are only shown for comparison
			old, ports = old+r.Old, ports+r.Ports
		}
		for name, value := range r.Figures {
			s := series[name]
			s.Unit, s.Reduce = "s", "max"
			s.Samples = append(s.Samples, value)
			series[name] = s
		}
	}
	raw := map[string]any{"old": old, "ports": ports}
	list := []figure.Row{
		{Name: "heal: processes of an old attempt alive when the new one starts", Log: "old", Op: "==", Bar: 0},
		{Name: "heal: ports used by two attempts", Log: "ports", Op: "==", Bar: 0},
	}
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		raw["failed "+key] = failed[key]
		list = append(list, figure.Row{Name: "heal: runs that did not recover, " + key, Log: "failed " + key, Op: "==", Bar: 0})
	}
	for _, name := range slices.Sorted(maps.Keys(series)) {
		raw[name] = series[name]
		row := figure.Row{Name: "heal: " + name, Log: name, Unit: "s"}
		if bar, there := bars[name]; there {
			row.Op, row.Bar = "<=", bar
		}
		list = append(list, row)
	}
	_, err := figure.Keep(dir, "make heal", "heal", raw, list...)
	return err
}
