//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/lab/kueue/manager"
	"github.com/musterhq/muster/test/lab/plane"
	"github.com/musterhq/muster/test/suite/figure"
)

const (
	gpu = "nvidia.com/gpu"
	// Labels of the nodes: blocks have racks, and racks have nodes.
	block, rack = "lab.muster.dev/block", "lab.muster.dev/rack"
)

// bed is the planes that the rows share.
type bed struct {
	bin, kueue string // directories of the controller and of Kueue
	programs   plane.Programs
	dir, logs  string
	sites      map[string]*site
}

// site is a plane with Kueue and Muster.
type site struct {
	*plane.Plane
	client client.WithWatch
}

func (b *bed) begin(ctx context.Context) (err error) {
	b.sites = map[string]*site{}
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	b.logs = filepath.Join(out, "raw")
	if b.dir, err = os.MkdirTemp("", "muster-kueue"); err != nil {
		return err
	}
	_, err = b.site(ctx, "main")
	return err
}

func (b *bed) end(context.Context) error {
	var errs []error
	for _, s := range b.sites {
		errs = append(errs, s.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// site returns a plane. It starts it first if that is needed.
func (b *bed) site(ctx context.Context, name string) (*site, error) {
	if s := b.sites[name]; s != nil {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	began := time.Now()
	p, err := b.programs.Start(ctx, "kueue-"+name, b.dir, b.logs)
	if err != nil {
		return nil, err
	}
	s := &site{Plane: p}
	if err := b.furnish(ctx, s, name); err != nil {
		return nil, errors.Join(fmt.Errorf("plane %s: %w", name, err), p.Stop())
	}
	fmt.Printf("plane %-8s ready after %.0f s\n", name, time.Since(began).Seconds())
	b.sites[name] = s
	return s, nil
}

// furnish brings nodes, Kueue and Muster to a plane.
func (b *bed) furnish(ctx context.Context, s *site, name string) error {
	cfg, err := s.Config()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if s.client, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := s.Nodes(ctx, s.client, nodes()...); err != nil {
		return err
	}
	if err := b.manage(ctx, s, name); err != nil {
		return err
	}
	if err := s.Muster(ctx, b.bin); err != nil {
		return err
	}
	if err := s.apply(ctx, "", flavor("any", nil, "")); err != nil {
		return err
	}
	return nil
}

// manage installs Kueue, runs it, and waits until its webhooks answer.
func (b *bed) manage(ctx context.Context, s *site, name string) error {
	m, err := manager.Module()
	if err != nil {
		return err
	}
	source, err := m.Source(ctx)
	if err != nil {
		return err
	}
	files := []string{"apply", "--server-side"}
	for _, f := range manager.CRDs() {
		files = append(files, "-f", filepath.Join(source, f))
	}
	if _, err := s.Kubectl(ctx, "default", nil, files...); err != nil {
		return err
	}
	dir := filepath.Join(b.dir, name+"-manager")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	port, err := plane.FreePort()
	if err != nil {
		return err
	}
	config, err := manager.Configure(dir, port, settings(name))
	if err != nil {
		return err
	}
	if err := manager.Hook(ctx, s.Kubectl, dir, port); err != nil {
		return err
	}
	return s.Run("kueue", []string{"GOMAXPROCS=2"}, filepath.Join(b.kueue, "kueue"), "--kubeconfig", s.Kubeconfig, "--config", config, "--zap-log-level=2")
}

// settings returns what the plane adds to the configuration of its Kueue.
func settings(name string) func(map[string]any) {
	return func(all map[string]any) {
		switch name {
		case "main":
			all["multiKueue"] = map[string]any{"gcInterval": "5s", "externalFrameworks": []any{map[string]any{"name": "LaunchJob.v1alpha1.muster.dev"}}}
		case "west":
			all["waitForPodsReady"] = map[string]any{"timeout": "6s", "recoveryTimeout": "6s",
				"requeuingStrategy": map[string]any{"timestamp": "Eviction", "backoffBaseSeconds": 1, "backoffLimitCount": 5}}
		}
	}
}

// nodes returns eight nodes of four GPUs: block b has the racks b-r, and rack b-r has the nodes b-r-n.
func nodes() (list []*corev1.Node) {
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("100"), gpu: resource.MustParse("4")}
	for i := range 8 {
		name := fmt.Sprintf("node-%d-%d-%d", i/4, i/2%2, i%2)
		list = append(list, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "lab.muster.dev/fabric": "any",
				block: fmt.Sprintf("block-%d", i/4), rack: fmt.Sprintf("rack-%d-%d", i/4, i/2%2)}},
			Status: corev1.NodeStatus{Allocatable: room, Capacity: room},
		})
	}
	return list
}
