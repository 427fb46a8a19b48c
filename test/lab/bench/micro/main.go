// Command micro runs the Go benchmarks of the parts that a launch goes through, and
// makes the table "micro" of them. It keeps go test's output in out/bench/micro.txt,
// unaltered, for benchstat. There are no bars, because each figure depends on the machine's processor.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
)

// packages returns the packages with benchmarks of framing, spools, hostfiles, ranking and explaining, of a
// link over a unix socket, and of the other costs that the plan needs. The keys are the directories of their
// modules, below the root.
func packages() map[string][]string {
	return map[string][]string{
		".":        {"./exec/wire", "./exec/flow", "./hostfile", "./rendezvous", "./exec/local"},
		"test/lab": {"./bench/plan"},
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "micro: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	count := flag.Int("count", 6, "run each benchmark `N` times")
	benchtime := flag.String("benchtime", "300ms", "run each benchmark for `D` each time")
	flag.Parse()
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	root, err := figure.Root()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	all := packages()
	for _, module := range slices.Sorted(maps.Keys(all)) {
		args := append([]string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", *benchtime, "-count", fmt.Sprint(*count)}, all[module]...)
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(root, module), io.MultiWriter(&text, os.Stdout), os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	t, err := parse(text.String())
	if err != nil {
		return err
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%s; each benchmark %d times for %s; out/bench/micro.txt is go test's own text, for benchstat", runtime.Version(), *count, *benchtime))
	return errors.Join(report.Save(t), os.WriteFile(filepath.Join(dir, "bench", "micro.txt"), text.Bytes(), 0o644))
}

// units returns the units in go test's lines, in the order of the table's columns.
func units() []string { return []string{"ns/op", "MB/s", "B/op", "allocs/op"} }

// procs matches the suffix that go test appends to a benchmark's name: GOMAXPROCS.
var procs = regexp.MustCompile(`-\d+$`)

// parse makes the table from the output of go test -bench: a row for each benchmark,
// and a sample for each of its lines. Times are in microseconds in the table.
func parse(text string) (report.Table, error) {
	t := report.Table{
		Name: "micro", Title: "The parts by themselves: time of one operation", Order: 80, Command: "make bench-micro", Drawn: []int{0},
		Columns: []report.Column{{Name: "time", Unit: "µs"}, {Name: "throughput", Unit: "MB/s"}, {Name: "allocated", Unit: "bytes"}, {Name: "allocations"}},
	}
	pkg := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "pkg: "):
			pkg = strings.TrimPrefix(words[1], "github.com/musterhq/muster/")
		case strings.HasPrefix(line, "cpu: ") && !slices.Contains(t.Notes, strings.TrimSpace(line)):
			t.Notes = append(t.Notes, strings.TrimSpace(line))
		case strings.HasPrefix(line, "Benchmark") && len(words) > 3:
			if err := sample(&t, pkg, words); err != nil {
				return t, fmt.Errorf("read %q: %w", strings.TrimSpace(line), err)
			}
		}
	}
	if len(t.Rows) == 0 {
		return t, fmt.Errorf("no benchmark in %d bytes of go test's output", len(text))
	}
	return t, nil
}

// sample adds the sample in one line: name, iterations, then pairs of a number and its unit.
func sample(t *report.Table, pkg string, words []string) error {
	name := pkg + ": " + procs.ReplaceAllString(strings.TrimPrefix(words[0], "Benchmark"), "")
	at := slices.IndexFunc(t.Rows, func(r report.Row) bool { return r.Name == name })
	if at < 0 {
		at = len(t.Rows)
		t.Rows = append(t.Rows, report.Row{Name: name, Cells: make([][]float64, len(t.Columns))})
	}
	for i := 2; i+1 < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return err
		}
		column := slices.Index(units(), words[i+1])
		if column < 0 {
			continue // a benchmark's own metric
		}
		if column == 0 {
			v /= 1000
		}
		t.Rows[at].Cells[column] = append(t.Rows[at].Cells[column], v)
	}
	return nil
}
