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

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/musterhq/muster/test/kube"
	"github.com/musterhq/muster/test/suite/figure"
)

func main() {
	log.SetLogger(logr.Discard()) // controller-runtime's
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gang: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	only := flag.String("rows", "", "only these, separated by commas")
	list := flag.Bool("list", false, "list the rows")
	build := flag.Bool("build", false, "build the schedulers, and nothing else")
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
	for _, m := range modules() {
		if _, err := m.Build(ctx); err != nil {
			return err
		}
	}
	if *build {
		return nil
	}
	return runRows(ctx, chosen)
}

func runRows(ctx context.Context, chosen []row) error {
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(out, "raw"), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "muster-gang")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := newClient()
	if err != nil {
		return err
	}
	if err := sweep(ctx, c); err != nil {
		return err
	}
	if err := kube.Controller(ctx, "images/deploy", time.Now().UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	var failed []string
	for _, r := range chosen {
		w := &world{row: r, out: out, dir: dir, client: c, raw: map[string]any{}}
		began := time.Now()
		err := errors.Join(play(ctx, w), ctx.Err())
		err = errors.Join(err, w.record())
		verdict := "pass"
		if err != nil {
			verdict, failed = "FAIL", append(failed, r.key)
		}
		fmt.Printf("%-14s %s  %3.0f s  %s\n", r.key, verdict, time.Since(began).Seconds(), strings.Join(w.seen, "; "))
		if err != nil {
			fmt.Fprintf(os.Stderr, "gang: %s: %v\n", r.key, err)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("not as it should: %s", strings.Join(failed, ", "))
	}
	return nil
}

// play runs a row, and leaves nothing of it.
func play(ctx context.Context, w *world) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	after := context.WithoutCancel(ctx)
	if err := w.open(ctx); err != nil {
		return err
	}
	var s *scheduler
	defer func() {
		if err != nil {
			said, _ := kube.Kubectl(after, w.ns, nil, "get", "lj,pods", "-o", "wide") // it is said beside the error
			err = fmt.Errorf("%w\n%s", err, said)
		}
		err = errors.Join(err, w.close(after))
		if s != nil {
			err = errors.Join(err, s.leave(after))
		}
		if w.row.gpus != "" {
			err = errors.Join(err, takeGPUs(after))
		}
	}()
	if w.row.gpus != "" {
		if err := giveGPUs(ctx, w.row.gpus); err != nil {
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
