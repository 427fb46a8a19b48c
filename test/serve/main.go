//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/kube"
	"github.com/musterhq/muster/test/suite/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "serve: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	only := flag.String("rows", "", "only these, separated by commas")
	list := flag.Bool("list", false, "list the rows")
	bin := flag.String("bin", "bin", "directory of agent-launcher")
	build := flag.Bool("build", false, "build the operator, and nothing else")
	flag.Parse()
	chosen := slices.DeleteFunc(rows(), func(r row) bool {
		return *only != "" && !slices.Contains(strings.Split(*only, ","), r.key)
	})
	switch {
	case len(chosen) == 0:
		return fmt.Errorf("-rows=%s: there is none; -list lists them", *only)
	case *list:
		for _, r := range chosen {
			fmt.Printf("%-14s %s\n", r.key, r.what)
		}
		return nil
	case os.Getenv("KUBECONFIG") == "" || os.Getenv("MUSTER_CLUSTER") == "":
		return errors.New("no cluster: make cluster-up, then eval \"$(go -C test/cluster run . env)\"")
	}
	if _, err := operator().Build(ctx); err != nil || *build {
		return err
	}
	return runRows(ctx, chosen, *bin)
}

func runRows(ctx context.Context, chosen []row, bin string) error {
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(out, "raw"), 0o755); err != nil {
		return err
	}
	if err := sweep(ctx); err != nil {
		return err
	}
	var failed []string
	for _, r := range chosen {
		w := &world{row: r, bin: bin, out: out, raw: map[string]any{}}
		began := time.Now()
		err := errors.Join(play(ctx, w), ctx.Err())
		err = errors.Join(err, w.record(err == nil))
		verdict := "pass"
		if err != nil {
			verdict, failed = "FAIL", append(failed, r.key)
		}
		fmt.Printf("%-14s %s  %3.0f s  %s\n", r.key, verdict, time.Since(began).Seconds(), strings.Join(w.seen, "; "))
		if err != nil {
			fmt.Fprintf(os.Stderr, "serve: %s: %v\n", r.key, err)
		}
	}
	if err := sweep(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("not as it should: %s", strings.Join(failed, ", "))
	}
	return nil
}

// play runs a row, and leaves nothing of it. The controller starts anew with each, and
// finds the kinds that the row has.
func play(ctx context.Context, w *world) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	after := context.WithoutCancel(ctx)
	files, err := w.row.crds(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(undefine(ctx), define(ctx, files)); err != nil {
		return err
	}
	if err := w.deploy(ctx); err != nil {
		return err
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			said, _ := kube.Kubectl(after, w.ns, nil, "get", "lj,pods", "-o", "wide")
			happened, _ := kube.Kubectl(after, w.ns, nil, "get", "events", "--sort-by=.lastTimestamp")
			logs, _ := kube.Kubectl(after, system, nil, "logs", "deployment/muster-controller", "-c", "controller", "--tail=30")
			err = fmt.Errorf("%w\n%s\n%s\n%s", err, said, happened, logs)
		}
		err = errors.Join(err, w.close(after))
	}()
	return w.row.play(ctx, w)
}

// sweep takes away what a run that was killed has left, and the kinds.
func sweep(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, "default", nil, "delete", "namespace", "-l", owner, "--timeout=90s")
	return errors.Join(err, undefine(ctx))
}
