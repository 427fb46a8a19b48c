//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
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

// period is that of the samples.
const period = 250 * time.Millisecond

// sample is what the API server said at one moment.
type sample struct {
	T    float64         `json:"t"` // seconds since the row began
	Jobs map[string]seen `json:"jobs"`
}

// seen is a job in a sample.
type seen struct {
	Pods   int    `json:"pods"`
	Bound  int    `json:"bound"`  // that have a node
	Worker int    `json:"worker"` // of these, workers
	Ended  int    `json:"ended"`  // and these have left it
	Phase  string `json:"phase"`
	Reason string `json:"reason,omitempty"`
	Words  string `json:"message,omitempty"`
}

// sampling samples until stop is called, which gives what there was.
func (w *world) sampling(ctx context.Context) (stop func() ([]sample, error)) {
	ctx, cancel := context.WithCancel(ctx)
	var list []sample
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(period); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			s, err := w.sample(ctx)
			if err == nil {
				list = append(list, s)
			} else if ctx.Err() == nil {
				failed = err
			}
		}
	}()
	return func() ([]sample, error) {
		cancel()
		<-done
		return list, failed
	}
}

func (w *world) sample(ctx context.Context) (sample, error) {
	s := sample{T: time.Since(w.began).Round(time.Millisecond).Seconds(), Jobs: map[string]seen{}}
	var jobs v1alpha1.LaunchJobList
	if err := w.client.List(ctx, &jobs, client.InNamespace(w.ns)); err != nil {
		return s, err
	}
	var pods corev1.PodList
	if err := w.client.List(ctx, &pods, client.InNamespace(w.ns)); err != nil {
		return s, err
	}
	for _, j := range jobs.Items {
		s.Jobs[j.Name] = seen{Phase: j.Status.Phase, Reason: j.Status.Reason, Words: j.Status.Message}
	}
	for _, p := range pods.Items {
		j, known := s.Jobs[p.Labels[names.LabelJob]]
		if !known {
			continue
		}
		j.Pods++
		if p.Spec.NodeName != "" {
			j.Bound++
			if p.Labels[names.LabelRole] == names.RoleWorker {
				j.Worker++
			}
		}
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			j.Ended++
		}
		s.Jobs[p.Labels[names.LabelJob]] = j
	}
	return s, nil
}

// firstBound is the job that had pods on nodes before the others; "" while none has.
func firstBound(list []sample) string {
	for _, s := range list {
		for _, name := range slices.Sorted(maps.Keys(s.Jobs)) {
			if s.Jobs[name].Bound > 0 {
				return name
			}
		}
	}
	return ""
}

// others gives how many pods of the other jobs had nodes, in each sample from the
// first pod of job that had one to the first of its pods that has left it.
func others(list []sample, job string) (bound []float64) {
	for _, s := range list {
		j := s.Jobs[job]
		if j.Ended > 0 {
			return bound
		}
		if j.Bound == 0 {
			continue
		}
		n := 0
		for name, other := range s.Jobs {
			if name != job {
				n += other.Bound
			}
		}
		bound = append(bound, float64(n))
	}
	return bound
}
