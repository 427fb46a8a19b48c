//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/musterhq/muster/test/lab/kueue/manager"
	"github.com/musterhq/muster/test/lab/kwok"
	"github.com/musterhq/muster/test/lab/plane"
	"github.com/musterhq/muster/test/lab/table"
	"github.com/musterhq/muster/test/suite/figure"
)

// row is a test in a namespace of its own.
type row struct {
	key, what string
	limit     time.Duration // 0: 3 minutes
	on        string        // the plane; "": main
	play      func(context.Context, *world) error
}

func rows() []row {
	return []row{
		{key: "itself", what: "Kueue admits two Workloads one after the other, without LaunchJobs", play: itself},
		{key: "admit", what: "two jobs, and room for one: one runs whole, and the other waits whole, 20 times", limit: 10 * time.Minute, play: admit},
		{key: "preempt", what: "a job of a higher priority evicts another one whole, which is queued again", play: preempt},
		{key: "missing", what: "a queue that does not exist, and is created later", play: missing},
		{key: "deactivate", what: "an administrator deactivates the Workload of a job, and activates it again", play: deactivate},
		{key: "suspend", what: "the user suspends a job, resumes it, and deletes it", play: suspend},
		{key: "ranks", what: "ranks follow the places that Kueue has assigned", play: ranks},
		{key: "narrow", what: "a topology that is required has no room", play: narrow},
		{key: "node", what: "a node fails, and Kueue replaces it", play: node(0)},
		{key: "spares", what: "the same with a spare among the workers", play: node(1)},
		{key: "partial", what: "an elastic job gets a part of its workers", play: partial},
		{key: "slices", what: "an elastic job is scaled up and down while it runs", play: slicesOf},
		{key: "reclaim", what: "the quota of workers that have ended goes to another job", play: reclaim},
		{key: "ready", what: "pods that do not become ready are evicted, and queued again", on: "west", play: unready},
		{key: "multikueue", what: "a job runs on one of two worker clusters, and its status comes back", limit: 5 * time.Minute, play: multikueue},
	}
}

func main() {
	log.SetLogger(logr.Discard()) // silences controller-runtime
	b := &bed{}
	flag.StringVar(&b.bin, "bin", "bin", "run the controller's binary in `DIR`")
	p := table.Program{Name: "kueue", Alone: true, Build: b.build, Begin: b.begin, End: b.end}
	for _, r := range rows() {
		p.Rows = append(p.Rows, table.Row{Key: r.key, What: r.what, Play: func(ctx context.Context, out string) ([]string, error) {
			return b.play(ctx, r, out)
		}})
	}
	p.Main()
}

// build builds what the planes run.
func (b *bed) build(ctx context.Context) (err error) {
	if b.programs, err = plane.Find(ctx); err != nil {
		return err
	}
	if _, err := kwok.Build(ctx); err != nil {
		return err
	}
	m, err := manager.Module()
	if err != nil {
		return err
	}
	b.kueue, err = m.Build(ctx)
	return err
}

// play runs a row in a new namespace of its plane.
func (b *bed) play(ctx context.Context, r row, out string) (seen []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.limit, 3*time.Minute))
	defer cancel()
	at, err := b.site(ctx, cmp.Or(r.on, "main"))
	if err != nil {
		return nil, err
	}
	w := &world{bed: b, row: r, site: at, out: out, raw: map[string]any{}}
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	err = r.play(ctx, w)
	if err != nil {
		err = w.explain(context.WithoutCancel(ctx), err)
	}
	err = errors.Join(err, w.close(context.WithoutCancel(ctx)), at.Died())
	return w.seen, errors.Join(err, w.record())
}

// figure records a figure; name says what it counts in this row.
func (w *world) figure(name string, value any, op string, bar float64, unit string) {
	w.raw[name] = value
	w.figures = append(w.figures, figure.Row{Name: "kueue " + w.row.key + ": " + name, Log: name, Op: op, Bar: bar, Unit: unit})
}

// record writes the raw data and the row's figures. The error names the figures that missed their bars.
func (w *world) record() error {
	kept, err := figure.Keep(w.out, "make e2e-kueue", "kueue-"+w.row.key, w.raw, w.figures...)
	return errors.Join(err, figure.Missed(kept))
}
