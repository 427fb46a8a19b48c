//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/program"
)

// options are the options of the command line.
type options struct {
	bin, only        string
	subset, parallel int
	seed             uint64
	limit            time.Duration
	verbose          bool
}

func main() {
	if len(os.Args) > 3 && os.Args[1] == denied {
		fmt.Fprintln(os.Stderr, "errno: "+withoutForks(os.Args[2], os.Args[3:]).Error())
		os.Exit(1)
	}
	program.Main("errno", run)
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "directory of agent and agent-launcher")
	flag.StringVar(&o.only, "only", "", "only the runs with these prefixes, such as pid1/accept,broker")
	flag.IntVar(&o.subset, "subset", 0, "only `N` short runs, chosen by -seed [all]")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the choice")
	flag.IntVar(&o.parallel, "parallel", 4, "runs at once")
	flag.DurationVar(&o.limit, "limit", 90*time.Second, "how long a run may take before it counts as hanging")
	flag.BoolVar(&o.verbose, "v", false, "show the output of every run")
	flag.Parse()
	if _, err := exec.LookPath("strace"); err != nil {
		return fmt.Errorf("%w: apt-get install strace", err)
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	list := chosen(o.only, o.subset, o.seed)
	if len(list) == 0 {
		return fmt.Errorf("-only=%s: no such run", o.only)
	}
	// Binaries are hard-linked into the runs' directories, so both must be on one file system.
	dir, err := os.MkdirTemp(bin, "e")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	results, err := playAll(ctx, &player{bin: bin, self: self, dir: dir, limit: o.limit}, list, o)
	if err != nil {
		return err
	}
	return report(results, o)
}

// playAll plays the runs, several at once, and returns the results in the order of list.
func playAll(ctx context.Context, p *player, list []cell, o options) ([]result, error) {
	results := make([]result, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.parallel)
	for i, c := range list {
		group.Go(func() error {
			r, err := p.play(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			results[i] = r
			if o.verbose || bad(r.End) {
				fmt.Printf("%-32s %-6s %3d %6.1f s %3d faults %3s  %s\n", r.Cell, r.End, r.Code, r.Seconds, r.Faults, r.Exit, r.Words)
			}
			if o.verbose {
				fmt.Println(r.out)
			}
			return nil
		})
	}
	return results, group.Wait()
}

// bad reports whether an end is a failure of the command.
func bad(end string) bool { return slices.Contains([]string{panics, alive, left, hang, false0}, end) }

// worse returns the worse of two ends.
func worse(a, b string) string {
	if slices.Index(ends, a) > slices.Index(ends, b) {
		return a
	}
	return b
}

// report prints the table and writes every run. Without -only it also writes the figures.
func report(results []result, o options) error {
	print(results)
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := figure.Save(dir, "errno.json", results); err != nil {
		return err
	}
	if o.only == "" {
		if err := record(dir, results, o.subset > 0); err != nil {
			return err
		}
	}
	for _, r := range results {
		if bad(r.End) {
			return fmt.Errorf("%s: %s", r.Cell, r.End)
		}
	}
	return nil
}

// figures has the name of the figure for each bad end.
var figures = map[string]string{
	hang:   "hangs",
	false0: "jobs that ended with a false 0",
	left:   "jobs that left processes behind",
	panics: "panics",
	alive:  "PID 1 that accepts nothing and does not end with 70",
}

// record records the counts of bad ends as figures.
func record(dir string, results []result, subset bool) error {
	raw, of, command := "errno", "failing system calls: ", "make errno"
	if subset {
		raw, of, command = "errno-subset", "failing system calls, a subset: ", "make fake"
	}
	count := map[string]int{}
	for end := range figures {
		count[end] = 0
	}
	for _, r := range results {
		count[r.End]++
	}
	var rows []figure.Row
	for end, name := range figures {
		rows = append(rows, figure.Row{Name: of + name, Op: "==", Log: end})
	}
	_, err := figure.Keep(dir, command, raw, count, rows...)
	return err
}

// print prints the worst end of each cell, and the number of runs for each end.
func print(results []result) {
	cells, count := map[[3]string]string{}, map[string]int{}
	for _, r := range results {
		key := [3]string{r.Cell.Role, r.Cell.Call, r.Cell.Errno}
		if cells[key] == "" {
			cells[key] = never
		}
		cells[key] = worse(cells[key], r.End)
		count[r.End]++
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "role\tcall\t"+strings.Join(errnos, "\t"))
	for _, role := range roles {
		for _, call := range calls {
			line, any := role+"\t"+call.name, false
			for _, errno := range errnos {
				end := cells[[3]string{role, call.name, errno}]
				any = any || end != ""
				line += "\t" + end
			}
			if any {
				fmt.Fprintln(w, line)
			}
		}
	}
	_ = w.Flush() // if the table cannot be printed, errno.json has it
	for _, end := range ends {
		if count[end] > 0 {
			fmt.Printf("%s %d  ", end, count[end])
		}
	}
	fmt.Println()
}
