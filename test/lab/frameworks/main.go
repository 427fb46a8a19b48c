//go:build linux

package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/hangs"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

//go:embed scripts
var scripts embed.FS

func main() { program.Main("frameworks", run) }

// options holds the flags of the command line.
type options struct {
	bin, where, rows     string
	venv                 string
	page, from           string
	ci, install, verbose bool
	list                 bool
	parallel             int
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "use agent and agent-launcher in `DIR`")
	flag.StringVar(&o.where, "where", "fake,cluster", "run in these `PLACES`: fake, cluster, or both")
	flag.StringVar(&o.rows, "rows", "", "run only these `ROWS` and the rows below them, separated by commas [all]")
	flag.BoolVar(&o.ci, "ci", false, "run only the rows that CI runs")
	flag.BoolVar(&o.install, "install", false, "install what the rows need, and run no row")
	flag.StringVar(&o.venv, "venv", "", "install only this environment, and print its directory")
	flag.BoolVar(&o.list, "list", false, "list the rows")
	flag.BoolVar(&o.verbose, "v", false, "show the output of every row")
	flag.StringVar(&o.page, "page", "", "update the list of tested frameworks in the page `FILE`")
	flag.StringVar(&o.from, "from", "", "with -page: run nothing, and read the results in `FILES` (frameworks.json), separated by commas")
	flag.IntVar(&o.parallel, "parallel", 2, "run `N` rows at the same time")
	flag.Parse()
	if o.venv != "" {
		return printVenv(ctx, o.venv)
	}
	list := chosen(rows(), o.rows, o.ci)
	if len(list) == 0 {
		return fmt.Errorf("-rows=%s: no such row; -list lists all rows", o.rows)
	}
	if o.list {
		for _, r := range list {
			fmt.Printf("%-24s %s: %s\n", r.key, r.framework, r.way)
		}
		return nil
	}
	if o.from != "" {
		results, err := saved(strings.Split(o.from, ","))
		if err != nil {
			return err
		}
		return writeList(o.page, list, results)
	}
	venvs, err := install(ctx, list)
	if err != nil || o.install {
		return err
	}
	dir, err := os.MkdirTemp("", "mf") // short, because sockets are below it
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	results, err := runAll(ctx, o, list, venvs, dir)
	if err != nil {
		return err
	}
	if err := errors.Join(show(os.Stdout, results), save(results)); err != nil {
		return err
	}
	if o.page != "" {
		if err := writeList(o.page, list, results); err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.Result == failed {
			return errors.New("some rows failed")
		}
	}
	return nil
}

// printVenv installs one environment, for other tests, and prints its directory.
func printVenv(ctx context.Context, name string) error {
	r, there := recipes()[name]
	if !there {
		return fmt.Errorf("-venv=%s: no such environment", name)
	}
	cache, err := program.Venvs()
	if err != nil {
		return err
	}
	v, err := r.make(ctx, cache, say)
	if err == nil {
		fmt.Println(v.dir)
	}
	return err
}

func say(text string) { fmt.Fprintln(os.Stderr, "frameworks: "+text) }

// install installs every environment that the rows need.
func install(ctx context.Context, list []row) (map[string]venv, error) {
	cache, err := program.Venvs()
	if err != nil {
		return nil, err
	}
	venvs, all := map[string]venv{}, recipes()
	for _, r := range list {
		for _, name := range r.recipes() {
			if _, there := venvs[name]; there {
				continue
			}
			v, err := all[name].make(ctx, cache, say)
			if err != nil {
				return nil, err
			}
			venvs[name] = v
		}
	}
	return venvs, nil
}

func runAll(ctx context.Context, o options, list []row, venvs map[string]venv, dir string) ([]result, error) {
	text, err := fs.Sub(scripts, "scripts")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(dir, "scripts"), text); err != nil {
		return nil, err
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, where := range strings.Split(o.where, ",") {
		var p place
		switch where {
		case "fake":
			p = fakes{bin: bin, scripts: filepath.Join(dir, "scripts"), dir: dir}
		case "cluster":
			if err := kube.Cluster(); err != nil {
				return nil, err
			}
			p = cluster{scripts: filepath.Join(dir, "scripts"), dir: dir}
		default:
			return nil, fmt.Errorf("-where=%s: use fake, cluster or both", o.where)
		}
		results = append(results, runIn(ctx, o, p, where, list, venvs)...)
	}
	return results, nil
}

// runIn runs the rows in one place, o.parallel at a time.
func runIn(ctx context.Context, o options, p place, where string, list []row, venvs map[string]venv) []result {
	results := make([]result, len(list))
	var group errgroup.Group
	group.SetLimit(o.parallel)
	for i, r := range list {
		group.Go(func() error {
			results[i] = runOne(ctx, o, p, where, r, venvs)
			return nil
		})
	}
	_ = group.Wait() // a failure is a result
	return results
}

// noted records whether the launcher reported a hang.
func noted(key, where string, out outcome) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	return hangs.Note(dir, "frameworks-"+where, key, out.ended.Sub(out.began), out.err)
}

func runOne(ctx context.Context, o options, p place, where string, r row, venvs map[string]venv) result {
	res := result{Key: r.key, Framework: r.framework, Way: r.way, Where: where, CI: r.ci}
	if where == "fake" && r.notFake != "" {
		res.Result, res.Why = notHere, r.notFake
		return res
	}
	ctx, cancel := context.WithTimeout(ctx, r.deadline())
	defer cancel()
	out, err := p.run(ctx, r, venvs)
	if err == nil {
		res.Seen, err = r.judge(out)
	}
	res.Seconds = out.ended.Sub(out.began).Seconds()
	if !hangs.Asked(r.flags) && out.err != "" {
		err = errors.Join(err, noted(r.key, where, out))
	}
	res.Result = passed
	if err != nil {
		res.Result, res.Why = failed, err.Error()
	}
	fmt.Fprintf(os.Stderr, "frameworks: %s on %s: %s, %.1f s: %s %s\n", r.key, where, res.Result, res.Seconds, res.Seen, res.Why)
	if err != nil || o.verbose {
		fmt.Fprintf(os.Stderr, "--- stdout\n%s--- stderr\n%s---\n", out.out, out.err)
	}
	return res
}

// result is a row of the table.
type result struct {
	Key       string  `json:"key"`
	Framework string  `json:"framework"`
	Way       string  `json:"way"`
	Where     string  `json:"where"`  // fake or cluster
	Result    string  `json:"result"` // pass, fail, or "not here"
	Seen      string  `json:"seen,omitempty"`
	Why       string  `json:"why,omitempty"` // the reason for a result other than pass
	Seconds   float64 `json:"seconds"`
	CI        bool    `json:"ci"`
	Packages  string  `json:"packages,omitempty"`
}

const (
	passed  = "pass"
	failed  = "fail"
	notHere = "not here"
)

func show(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "framework\tway of launch\twhere\tresult\tseconds\tobservations")
	for _, r := range results {
		seen := r.Seen
		if r.Why != "" {
			seen = strings.Join(strings.Fields(strings.TrimPrefix(seen+"; "+r.Why, "; ")), " ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%s\n", r.Framework, r.Way, r.Where, r.Result, r.Seconds, seen)
	}
	return t.Flush()
}

// saved reads the results of earlier runs.
func saved(paths []string) (results []result, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var part []result
		if err := json.Unmarshal(text, &part); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		results = append(results, part...)
	}
	return results, nil
}

// save writes frameworks.json, and records the number of failed rows, whose bar is 0.
func save(results []result) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := figure.Save(dir, "frameworks.json", results); err != nil {
		return err
	}
	counts := map[string]map[string]int{}
	for _, r := range results {
		if counts[r.Where] == nil {
			counts[r.Where] = map[string]int{}
		}
		counts[r.Where][r.Result]++
	}
	for where, count := range counts {
		if _, err := figure.Keep(dir, "make frameworks", "frameworks-"+where, map[string]any{"failed": count[failed], "passed": count[passed]},
			figure.Row{Name: "frameworks, " + where + ": rows that failed", Log: "failed", Op: "==", Bar: 0},
			figure.Row{Name: "frameworks, " + where + ": rows that passed", Log: "passed", Op: ">=", Bar: 1}); err != nil {
			return err
		}
	}
	return nil
}
