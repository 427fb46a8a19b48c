//go:build linux

package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/hangs"
)

//go:embed testdata/*.py
var scripts embed.FS

// options are the command line.
type options struct {
	rows              string
	ci, list, verbose bool
	times             int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "heal: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.rows, "rows", "", "only these and those below them, separated by commas")
	flag.BoolVar(&o.ci, "ci", false, "only the subset that CI runs, each once")
	flag.BoolVar(&o.list, "list", false, "list the rows")
	flag.BoolVar(&o.verbose, "v", false, "show the launcher's output of every run")
	flag.IntVar(&o.times, "times", 0, "run each row `N` times (default: as often as it says)")
	flag.Parse()
	list := chosen(rows(), o)
	if len(list) == 0 {
		return fmt.Errorf("-rows=%s: there is none; -list lists them", o.rows)
	}
	if o.list {
		for _, r := range list {
			fmt.Printf("%-18s %2d  %s\n", r.key, r.times, r.what)
		}
		return nil
	}
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("MUSTER_CLUSTER") == "" {
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/lab/cluster run . env)\"")
	}
	dir, err := os.MkdirTemp("", "mh")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	var results []result
	for _, r := range list {
		for n := range r.times {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			results = append(results, runOnce(ctx, o, r, n, dir))
		}
	}
	return report(results)
}

// noted takes down whether the launcher has reported a hang.
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
		fmt.Fprintf(os.Stderr, "--- the launcher\n%s\n---\n", strings.Join(w.text(), "\n"))
	}
	return res
}

// chosen are the rows of a list of keys, where a key chooses the rows below it too.
func chosen(all []row, o options) (list []row) {
	for _, r := range all {
		if o.ci && !r.ci || o.rows != "" && !slices.ContainsFunc(strings.Split(o.rows, ","), func(key string) bool {
			return r.key == key || strings.HasPrefix(r.key, key+"/")
		}) {
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
