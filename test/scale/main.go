//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/musterhq/muster/test/audit"
	"github.com/musterhq/muster/test/suite/figure"
)

// options are the command line.
type options struct {
	bin, only              string
	launches, workers      int
	jobs, jobsAlone, nodes int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scale: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	o := options{workers: 20, jobsAlone: 5, nodes: 4}
	flag.StringVar(&o.bin, "bin", "bin", "`DIR` of the controller's binary")
	flag.StringVar(&o.only, "only", "", "launches or many (default: both)")
	flag.IntVar(&o.launches, "launches", 20, "launch `N` times")
	flag.IntVar(&o.jobs, "jobs", 200, "`N` jobs at once")
	flag.Parse()
	if o.only != "" && o.only != "launches" && o.only != "many" {
		return fmt.Errorf("-only=%s: there are launches and many", o.only)
	}
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("MUSTER_AUDIT_LOG") == "" {
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/cluster run . env)\"")
	}
	log.SetLogger(logr.Discard()) // controller-runtime's
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer os.RemoveAll(w.dir)
	defer func() { err = errors.Join(err, w.undo(0)) }()
	began := time.Now()
	if err := w.install(ctx); err != nil {
		return err
	}
	if _, err := audit.Since(w.audit, began); err != nil {
		return fmt.Errorf("%w; test/cluster up starts an API server that writes it", err)
	}
	for _, part := range []struct {
		name string
		do   func(context.Context, options) error
	}{{"launches", w.launches}, {"many", w.many}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		before := len(w.steps)
		if err := errors.Join(part.do(ctx, o), w.undo(before)); err != nil { // no controller goes on beside the next part's
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// say tells how far we are.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "scale: "+time.Now().UTC().Format("15:04:05")+" "+format+"\n", args...)
}

// record writes raw numbers and the rows that stand on them, and prints these. A row that misses its
// bar is an error.
func record(name string, raw any, rows ...figure.Row) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	log, err := figure.WriteRaw(dir, name, raw)
	if err != nil {
		return err
	}
	var missed error
	for _, row := range rows {
		row.Log, row.Command = log+"#"+row.Log, "make e2e-scale"
		row, err := figure.Record(dir, row)
		if err != nil {
			return err
		}
		fmt.Printf("%-80s %8.4g %s\n", row.Name, row.Value, row.Unit)
		if !row.Pass {
			missed = errors.Join(missed, fmt.Errorf("%s: %.4g %s misses %s %.4g", row.Name, row.Value, row.Unit, row.Op, row.Bar))
		}
	}
	return missed
}
