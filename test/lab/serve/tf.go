//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/test/lab/operator"
	"github.com/musterhq/muster/test/suite/kube"
	"github.com/musterhq/muster/test/suite/program"
)

// tensorflow runs a TFJob whose PS waits for ever, under Volcano's scheduler: it ends with its Chief.
func tensorflow(ctx context.Context, w *world) (err error) {
	stop, err := w.volcano(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	const object = "tfjob/mnist"
	if err := w.apply(ctx, "tfjob.yaml", "NAME", "mnist"); err != nil {
		return err
	}
	o, text, err := w.succeeds(ctx, object)
	if err != nil {
		return err
	}
	pods, err2 := kube.Kubectl(ctx, w.ns, nil, "get", "pods", "--sort-by=.metadata.name", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.spec.schedulerName} {.metadata.annotations.scheduling\.k8s\.io/group-name} {.metadata.labels.training\.kubeflow\.org/replica-type}|{end}`)
	least, err3 := kube.Kubectl(ctx, w.ns, nil, "get", "podgroup", "mnist", "-o", "jsonpath={.spec.minMember} {.spec.queue}")
	if err := errors.Join(err, err2, err3, same("columns", "NAME STATE|mnist Succeeded", text),
		same("conditions", "Created=True(TFJobCreated) Running=False(TFJobRunning) Succeeded=True(TFJobSucceeded)", conditions(o)),
		same("counts", `{"Chief":{"succeeded":1},"PS":{"succeeded":1},"Worker":{"succeeded":1}}`, replicas(o)),
		same("pods", "mnist-chief-0 volcano mnist chief|mnist-ps-0 volcano mnist ps|mnist-worker-0 volcano mnist worker|", pods),
		same("the gang", "3 default", least)); err != nil {
		return err
	}
	w.see("PS, Chief and Worker started as one gang of Volcano's; TF_CONFIG, conditions, counts and columns of training-operator; the PS that waits held nobody up")
	return w.clusterOf(ctx)
}

// clusterOf: TF_CONFIG names all by the hosts that training-operator gives.
func (w *world) clusterOf(ctx context.Context) error {
	text, err := kube.Kubectl(ctx, w.ns, nil, "logs", "mnist-chief-0")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		_, config, found := strings.Cut(line, "{")
		if !found {
			continue
		}
		var have struct {
			Cluster map[string][]string
			Task    struct {
				Type  string
				Index int
			}
		}
		if err := json.Unmarshal([]byte("{"+strings.TrimSpace(config)), &have); err != nil {
			return fmt.Errorf("read TF_CONFIG of %q: %w", line, err)
		}
		host := func(role string) string { return "mnist-" + role + "-0." + w.ns + ".svc:2222" }
		want := fmt.Sprint(map[string][]string{"chief": {host("chief")}, "ps": {host("ps")}, "worker": {host("worker")}}, " {chief 0}")
		return same("TF_CONFIG", want, fmt.Sprint(have.Cluster, " ", have.Task))
	}
	return fmt.Errorf("the chief was told no TF_CONFIG: %s", text)
}

// volcano brings its custom resources and starts its scheduler and controllers, those
// that test/lab/gang pins; stop takes them away.
func (w *world) volcano(ctx context.Context) (stop func() error, err error) {
	m := program.Module{Dir: "test/lab/gang/volcano", Path: "volcano.sh/volcano", Name: "volcano", Commands: []string{"cmd/scheduler", "cmd/controller-manager"}}
	bin, err := m.Build(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := m.Source(ctx)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "volcano", "bases", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var running []*program.Process
	stop = func() (err error) {
		for _, p := range running {
			err = errors.Join(err, p.Died())
		}
		for _, f := range files { // they may have finalizers to remove, and run yet
			err = errors.Join(err, w.kubectl(context.WithoutCancel(ctx), "delete", "--ignore-not-found", "--wait=false", "-f", f))
		}
		for _, p := range running {
			_ = p.End() // Died has spoken for those that are gone
		}
		return err
	}
	if err := operator.Define(ctx, files); err != nil {
		return stop, errors.Join(err, stop())
	}
	kubeconfig := os.Getenv("KUBECONFIG")
	for name, args := range map[string][]string{
		"scheduler":          {"--cache-dumper=false", "--scheduler-conf", "test/lab/gang/testdata/volcano.yaml"},
		"controller-manager": nil,
	} {
		p, err := program.Start(filepath.Join(w.out, "raw", "serve-volcano-"+name+".log"), []string{"GOMAXPROCS=2"},
			append([]string{filepath.Join(bin, name), "--kubeconfig", kubeconfig, "--leader-elect=false"}, args...)...)
		if err != nil {
			return stop, errors.Join(err, stop())
		}
		running = append(running, p)
	}
	return stop, nil
}
