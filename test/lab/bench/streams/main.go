//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/remote"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/lab/bench/pods"
	"github.com/musterhq/muster/test/lab/measure"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/page"
	"github.com/musterhq/muster/test/suite/program"
)

// fewest is how many rounds a table needs.
const fewest = 3

// options holds the flags of the command line.
type options struct {
	workers, rounds, flows, mib int
	settle, span                time.Duration
	image, page                 string
}

func main() { program.Main("streams", run) }

func run(ctx context.Context) (err error) {
	var o options
	flag.IntVar(&o.workers, "workers", 60, "hold a stream to each of `N` workers")
	flag.IntVar(&o.rounds, "rounds", 5, "run `N` rounds")
	flag.IntVar(&o.flows, "flows", 8, "read output over `N` of the streams in each round")
	flag.IntVar(&o.mib, "mib", 64, "read `N` MiB of output over each of them")
	flag.DurationVar(&o.settle, "settle", 10*time.Second, "wait `TIME` before a reading")
	flag.DurationVar(&o.span, "span", 20*time.Second, "measure the CPU time of held streams for `TIME`")
	flag.StringVar(&o.image, "image", "openmpi", "run pods with the image `NAME` of images/")
	flag.StringVar(&o.page, "page", "", "write the table into the page `FILE` [none]")
	flag.Parse()
	if o.flows > o.workers {
		return fmt.Errorf("-flows=%d: there are only %d workers", o.flows, o.workers)
	}
	if err := kube.Cluster("MUSTER_KUBECTL"); err != nil {
		return err
	}
	m, err := measure.New("streams")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	space, err := pods.NewSpace(ctx, "streams")
	defer func() { err = errors.Join(err, space.Close(ctx)) }()
	if err != nil {
		return err
	}
	job := pods.Job{Name: "hold", Image: o.image, Workers: o.workers, Worker: []string{"worker"}}
	m.Say("starting %d workers", o.workers)
	if _, err := space.Start(ctx, job); err != nil {
		return err
	}
	w := &world{World: m, options: o, nodes: pods.Nodes()}
	for i := range o.workers {
		w.targets = append(w.targets, remote.Target{Namespace: space.Name, Pod: job.WorkerName(i), Container: "worker", Agent: "/muster/agent"})
	}
	return w.measure(ctx)
}

// measure runs all rounds, and saves what they have measured.
func (w *world) measure(ctx context.Context) (err error) {
	if w.version, err = w.minor(ctx); err != nil {
		return err
	}
	if w.client, err = rendezvous.Client(w.Config); err != nil {
		return err
	}
	var samples []sample
	var failed []error
	order := []remote.Transport{remote.SPDY, remote.WebSocket}
	for _, by := range order {
		if err := w.warm(ctx, by); err != nil {
			return fmt.Errorf("warm-up, %s: %w", by, err)
		}
	}
	for round := range w.options.rounds {
		for _, by := range order {
			s, err := w.round(ctx, by)
			if ctx.Err() != nil {
				return errors.Join(append(failed, ctx.Err())...)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("round %d, %s: %w", round+1, by, err))
				w.Say("%v", failed[len(failed)-1])
				continue
			}
			w.Say("round %d: %s", round+1, s)
			samples = append(samples, s)
			if err := w.keep(samples); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	return errors.Join(append(failed, w.report(samples))...)
}

// minor returns the API server's version, such as 1.37.
func (w *world) minor(ctx context.Context) (string, error) {
	text, err := w.Fetch(ctx, "/version")
	if err != nil {
		return "", err
	}
	var v struct{ Major, Minor, GitVersion string }
	if err := json.Unmarshal(text, &v); err != nil || v.Minor == "" {
		return "", errors.Join(err, fmt.Errorf("read version: %s", text))
	}
	w.git = v.GitVersion
	return v.Major + "." + strings.TrimSuffix(v.Minor, "+"), nil
}

// name is the base name of the raw numbers. Each version has its own.
func (w *world) name() string { return "bench-streams-" + w.version }

func (w *world) keep(samples []sample) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	_, err = figure.WriteRaw(dir, w.name(), w.raw(samples))
	return err
}

// report prints the table, records the figures, and writes the page.
func (w *world) report(samples []sample) error {
	for _, by := range []remote.Transport{remote.SPDY, remote.WebSocket} {
		if n := len(of(samples, by)); n < fewest {
			return fmt.Errorf("%d rounds by %s are too few for a table: it needs %d", n, by, fewest)
		}
	}
	lines := w.lines(samples)
	fmt.Print(table("", lines))
	err := figure.Report(command, w.name(), w.raw(samples), w.rows(samples)...)
	if w.options.page == "" {
		return err
	}
	text, rerr := os.ReadFile(w.options.page)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	return errors.Join(err, page.Put(w.options.page, "streams", table(string(text), lines)))
}

// conditions describes the run, for the raw numbers.
func (w *world) conditions() map[string]any {
	return map[string]any{"version": w.git, "workers": w.options.workers, "rounds": w.options.rounds, "flows": w.options.flows,
		"mib": w.options.mib, "span": w.options.span.Seconds(), "processors": runtime.NumCPU()}
}
