//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/kube"
)

const owner = "muster.dev/gang" // label of our namespaces

// world is one run of a row: its namespace, what was sampled and what was seen.
type world struct {
	row     row
	ns      string
	out     string // directory of the figures
	dir     string // of our own files
	client  client.WithWatch
	raw     map[string]any // what is kept
	figures []figure.Row
	seen    []string
	began   time.Time
}

// newClient talks to the cluster of KUBECONFIG.
func newClient() (client.WithWatch, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 50, 100
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(cfg, client.Options{Scheme: scheme})
}

// open makes the row's namespace.
func (w *world) open(ctx context.Context) error {
	w.ns, w.began = "gang-"+w.row.key+"-"+strings.ToLower(rand.Text()[:5]), time.Now()
	return kube.Open(ctx, w.ns, owner)
}

// close takes the namespace away, and waits for it: schedulers and custom resources
// go after it.
func (w *world) close(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "namespace", w.ns, "--timeout=90s")
	return err
}

// see keeps what was seen, for the table.
func (w *world) see(format string, args ...any) {
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

// show keeps what a user sees who types this.
func (w *world) show(ctx context.Context, key string, args ...string) (string, error) {
	text, err := kube.Kubectl(ctx, w.ns, nil, args...)
	w.raw[key] = strings.Split(strings.TrimSpace(text), "\n")
	return text, err
}

// manifest reads a LaunchJob of testdata, under a name.
func manifest(file, name string, change ...func(*v1alpha1.LaunchJob)) (*v1alpha1.LaunchJob, error) {
	text, err := testdata.ReadFile("testdata/" + file)
	if err != nil {
		return nil, err
	}
	job := &v1alpha1.LaunchJob{}
	if err := yaml.UnmarshalStrict(text, job); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	job.Name = name
	for _, f := range change {
		f(job)
	}
	return job, nil
}

// apply creates jobs of a manifest, all with one kubectl.
func (w *world) apply(ctx context.Context, file string, names []string, change ...func(*v1alpha1.LaunchJob)) error {
	var jobs []any
	for _, name := range names {
		job, err := manifest(file, name, change...)
		if err != nil {
			return err
		}
		jobs = append(jobs, job)
	}
	return kube.Apply(ctx, w.ns, jobs...)
}

// gang asks for a backend.
func gang(backend string) func(*v1alpha1.LaunchJob) {
	g := v1alpha1.Gang{Backend: backend}
	if backend == "kueue" {
		g.Queue = "gpus"
	}
	return func(j *v1alpha1.LaunchJob) { j.Spec.Gang = &g }
}

// becomes waits until the status of a job is as ok wants it.
func (w *world) becomes(ctx context.Context, name, what string, limit time.Duration, ok func(v1alpha1.LaunchJobStatus) bool) (v1alpha1.LaunchJobStatus, error) {
	deadline := time.Now().Add(limit)
	for {
		job := &v1alpha1.LaunchJob{}
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, job); err != nil {
			return job.Status, err
		}
		if ok(job.Status) {
			return job.Status, nil
		}
		if time.Now().After(deadline) {
			return job.Status, fmt.Errorf("%s is not %s within %s: %s %s: %s", name, what, limit, job.Status.Phase, job.Status.Reason, job.Status.Message)
		}
		if err := await.Pause(ctx, 250*time.Millisecond); err != nil {
			return job.Status, err
		}
	}
}
