//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/musterhq/muster/test/suite/kube"
)

// noKinds: the cluster has none, and could not store this one.
func noKinds(context.Context) ([]string, error) { return nil, nil }

// benchmarks is the MPIJob that mpi-operator's first releases came with, whose version no
// API server stores any more: converted, it runs in an image without the agent, on
// GPUs, and its log gives the number that people ran it for.
func benchmarks(ctx context.Context, w *world) (err error) {
	const job, total = "tensorflow-benchmarks", "221.25"
	if err := kube.GPUs(ctx, gpuNode, gpus); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kube.GPUs(context.WithoutCancel(ctx), gpuNode, 0)) }()
	old, err := testdata.ReadFile("testdata/benchmarks.yaml")
	if err != nil {
		return err
	}
	launcher := filepath.Join(w.bin, "agent-launcher")
	made, err := kube.Program(ctx, old, launcher, "convert", "-f", "-")
	if err != nil {
		return err
	}
	w.raw["converted"] = made
	if _, err := kube.Kubectl(ctx, w.ns, []byte(made), "apply", "-f", "-"); err != nil {
		return err
	}
	if err := w.kubectl(ctx, "wait", "--for=condition=Succeeded", "launchjob/"+job, "--timeout=150s"); err != nil {
		return err
	}
	log, err := kube.Kubectl(ctx, w.ns, nil, "logs", job+"-launcher")
	if err != nil {
		return err
	}
	w.raw["log"] = log
	want := fmt.Sprintf(`ranks on [('%s-worker-0', 'INFO'), ('%s-worker-1', 'INFO')]`, job, job)
	if !strings.Contains(log, want) {
		return fmt.Errorf("want %q, have:\n%s", want, log)
	}
	found, err := kube.Program(ctx, []byte(log), launcher, "metrics", "--metric", "total images/sec", "--metric", "images/sec", "-")
	if err != nil {
		return err
	}
	w.raw["metrics"] = found
	if !regexp.MustCompile(`(?m)^total images/sec\s+` + regexp.QuoteMeta(total) + `\b`).MatchString(found) {
		return fmt.Errorf("want total images/sec %s, have:\n%s", total, found)
	}
	w.see("an image without the agent, 2 workers with a GPU each; total images/sec %s", total)
	return nil
}

// gpuNode has the GPUs, and so many.
const (
	gpuNode = "node1"
	gpus    = 2
)
