//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/musterhq/muster/test/lab/table"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

func main() {
	log.SetLogger(logr.Discard()) // silences controller-runtime
	p := table.Program{Name: "gang", Build: build, Begin: begin}
	for _, r := range append(rows(), ownRows()...) {
		p.Rows = append(p.Rows, table.Row{Key: r.key, What: r.what, Play: r.see})
	}
	p.Main()
}

// build builds the schedulers of the rows that the command line selects.
func build(ctx context.Context) error {
	only := flag.Lookup("rows").Value.String()
	for _, r := range rows() {
		if r.module == nil || !table.Asked(only, r.key) {
			continue
		}
		if _, err := r.module().Build(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin clears the cluster, and installs the controller.
func begin(ctx context.Context) error {
	c, err := newClient()
	if err != nil {
		return err
	}
	if err := sweep(ctx, c); err != nil {
		return err
	}
	return kube.Controller(ctx, "images/deploy", time.Now().UTC().Format(time.RFC3339))
}

// see runs the row and saves its figures.
func (r row) see(ctx context.Context, out string) (seen []string, err error) {
	dir, err := os.MkdirTemp("", "muster-gang")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	c, err := newClient()
	if err != nil {
		return nil, err
	}
	w := &world{row: r, out: out, dir: dir, client: c, raw: map[string]any{}}
	err = play(ctx, w)
	return w.seen, errors.Join(err, w.record())
}

// play runs a row, and removes everything that it created.
func play(ctx context.Context, w *world) (err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.row.limit, 4*time.Minute))
	defer cancel()
	after := context.WithoutCancel(ctx)
	if err := w.open(ctx); err != nil {
		return err
	}
	var s *scheduler
	defer func() {
		if err != nil {
			said, _ := kube.Kubectl(after, w.ns, nil, "get", "lj,pods", "-o", "wide") // best effort: the list explains the error
			err = fmt.Errorf("%w\n%s", err, said)
		}
		err = errors.Join(err, w.close(after))
		if s != nil {
			err = errors.Join(err, s.leave(after))
		}
		if w.row.gpus > 0 {
			err = errors.Join(err, kube.GPUs(after, gpuNode, 0))
		}
	}()
	if w.row.gpus > 0 {
		if err := kube.GPUs(ctx, gpuNode, w.row.gpus); err != nil {
			return err
		}
	}
	if w.row.module != nil {
		if s, err = w.bring(ctx, w.row.module(), w.row.conf); err != nil {
			return err
		}
	}
	w.began = time.Now()
	stop := w.sampling(ctx)
	err = w.row.play(ctx, w)
	samples, serr := stop()
	w.raw["samples"] = samples
	if err = errors.Join(err, serr); err != nil || w.row.judge == nil {
		return err
	}
	return w.row.judge(w, samples)
}

// row is a test in a namespace of its own, and the checks of its samples.
type row struct {
	key    string // name on the command line
	what   string
	gpus   int           // number of GPUs of node1
	module func() module // of the gang scheduler; nil: only the cluster's own scheduler
	conf   string        // the scheduler's configuration, in testdata; Kueue has its own
	limit  time.Duration // of the row; 0: 4 minutes
	play   func(ctx context.Context, w *world) error
	judge  func(w *world, samples []sample) error // nil: play checks everything
}

func rows() []row {
	return []row{
		{key: "absent", what: "backends whose kind the cluster does not serve", play: absent},
		{key: "none", what: "two jobs of 4 GPUs on 4 GPUs, no gang", gpus: 4, play: deadlock},
		{key: "volcano", what: "the same under Volcano", gpus: 4, module: volcano, conf: "volcano.yaml",
			play: pair("volcano"), judge: oneAfterTheOther},
		{key: "coscheduling", what: "the same under coscheduling", gpus: 4, module: coscheduling, conf: "coscheduling.yaml",
			play: pair("coscheduling"), judge: oneAfterTheOther},
		{key: "kueue", what: "the same under Kueue", gpus: 4, module: kueue, play: pair("kueue"), judge: oneAfterTheOther},
		{key: "spares", what: "a worker fails its preflight under Volcano, and a spare takes its place", gpus: 5, module: volcano, conf: "volcano.yaml", play: reserve},
		{key: "topology", what: "ps and worker, with Volcano's task topology and without", module: volcano, conf: "volcano-topology.yaml", play: topology},
		{key: "example-volcano", what: "examples/gang-volcano", module: volcano, conf: "volcano.yaml", play: fromExample("volcano")},
		{key: "example-coscheduling", what: "examples/gang-coscheduling", module: coscheduling, conf: "coscheduling.yaml", play: fromExample("coscheduling")},
		{key: "example-kueue", what: "examples/gang-kueue", module: kueue, play: fromExample("kueue")},
		{key: "removed", what: "a backend is removed, and added again", play: removed},
	}
}

// figure records a figure; name says what it counts in this row.
func (w *world) figure(name string, value any, op string, bar float64, unit string) {
	w.raw[name] = value
	w.figures = append(w.figures, figure.Row{Name: "gang " + w.row.key + ": " + name, Log: name, Op: op, Bar: bar, Unit: unit})
}

// record writes the raw data and the row's figures. The error names the figures that
// missed their bars.
func (w *world) record() error {
	kept, err := figure.Keep(w.out, "make e2e-gang", "gang-"+w.row.key, w.raw, w.figures...)
	return errors.Join(err, figure.Missed(kept))
}
