//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/figure"
)

// world is the cluster, and what we have changed in it.
type world struct {
	cfg    *rest.Config
	client client.Client
	audit  string // path of the API server's log
	root   string // of the module
	dir    string // for files of ours
	steps  []step // that undo what was done, the last first
}

type step struct {
	what string
	do   func(context.Context) error
}

func newWorld() (*world, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("read KUBECONFIG: %w", err)
	}
	cfg.UserAgent, cfg.QPS, cfg.Burst = "scale", 1000, 1000
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	root, err := figure.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "muster-scale")
	return &world{cfg: cfg, client: c, audit: os.Getenv("MUSTER_AUDIT_LOG"), root: root, dir: dir}, err
}

// later notes how something is taken back.
func (w *world) later(what string, do func(context.Context) error) {
	w.steps = append(w.steps, step{what, do})
}

// undo takes back everything after the first steps, whether or not the program's own context has ended.
func (w *world) undo(first int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var errs []error
	for _, s := range slices.Backward(w.steps[first:]) {
		if err := s.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.what, err))
		}
	}
	w.steps = w.steps[:first]
	return errors.Join(errs...)
}

// spaces makes namespaces, which go with all that is in them.
func (w *world) spaces(ctx context.Context, names ...string) error {
	w.later("remove namespaces", func(ctx context.Context) error {
		var errs []error
		for _, name := range names { // all at once: the garbage collector takes its time with each
			errs = append(errs, client.IgnoreNotFound(w.client.Delete(ctx, namespace(name))))
		}
		for _, name := range names {
			errs = append(errs, w.gone(ctx, namespace(name)))
		}
		return errors.Join(errs...)
	})
	for _, name := range names {
		if err := w.client.Create(ctx, namespace(name)); err != nil {
			return fmt.Errorf("make namespace: %w", err)
		}
		if err := w.await(ctx, time.Minute, "a service account", func() (bool, error) {
			err := w.client.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
			return err == nil, client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
	}
	return nil
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
}

// gone waits until an object is not there any more.
func (w *world) gone(ctx context.Context, object client.Object) error {
	return w.await(ctx, 3*time.Minute, object.GetName()+" to go", func() (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err != nil, client.IgnoreNotFound(err)
	})
}

// await asks until it is so.
func (w *world) await(ctx context.Context, limit time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		yes, err := so()
		if yes && err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, errors.Join(err, ctx.Err()))
		}
	}
}

// job is the LaunchJob of the end-to-end tests under another name.
func (w *world) job(space, name string, workers int32) (*v1alpha1.LaunchJob, error) {
	text, err := os.ReadFile(filepath.Join(w.root, "test/e2e/manifests/launchjob.yaml"))
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.LaunchJob{}
	if err := yaml.UnmarshalStrict(text, job); err != nil {
		return nil, err
	}
	job.Namespace, job.Name, job.Spec.Workers = space, name, &workers
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "None"}
	job.Spec.Launcher.Template.Spec.Containers[0].Command = []string{"mpirun", "/opt/muster-test/hello"}
	return job, nil
}
