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

const owner = "muster.dev/gang" // label of the rows' namespaces

// world is one run of a row: its namespace, samples and observations.
type world struct {
	row     row
	ns      string
	out     string // directory of the figures
	dir     string // for temporary files
	client  client.WithWatch
	raw     map[string]any // raw data to save
	figures []figure.Row
	seen    []string
	began   time.Time
}

// newClient returns a client for the cluster of KUBECONFIG.
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

// open creates the row's namespace.
func (w *world) open(ctx context.Context) error {
	w.ns, w.began = "gang-"+w.row.key+"-"+strings.ToLower(rand.Text()[:5]), time.Now()
	return kube.Open(ctx, w.ns, owner)
}

// close deletes the namespace, and waits until it is gone, because schedulers and custom resources
// are removed next.
func (w *world) close(ctx context.Context) error {
	_, err := kube.Kubectl(ctx, w.ns, nil, "delete", "namespace", w.ns, "--timeout=90s")
	return err
}

// see adds an observation to the table.
func (w *world) see(format string, args ...any) {
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

// show saves the output of a kubectl command.
func (w *world) show(ctx context.Context, key string, args ...string) (string, error) {
	text, err := kube.Kubectl(ctx, w.ns, nil, args...)
	w.raw[key] = strings.Split(strings.TrimSpace(text), "\n")
	return text, err
}

// manifest reads a LaunchJob in testdata, and sets its name.
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

// apply creates jobs from a manifest, with a single kubectl.
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

// gang returns a change that sets the backend.
func gang(backend string) func(*v1alpha1.LaunchJob) {
	g := v1alpha1.Gang{Backend: backend}
	if backend == "kueue" {
		g.Queue = "gpus"
	}
	return func(j *v1alpha1.LaunchJob) { j.Spec.Gang = &g }
}

// becomes waits until ok accepts the status of a job.
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

// period is the interval between samples.
const period = 250 * time.Millisecond

// sample is the state in the API server at one moment.
type sample struct {
	T    float64         `json:"t"` // seconds since the start of the row
	Jobs map[string]seen `json:"jobs"`
}

// seen is a job in a sample.
type seen struct {
	Pods   int    `json:"pods"`
	Bound  int    `json:"bound"`  // pods with a node
	Worker int    `json:"worker"` // of these, workers
	Ended  int    `json:"ended"`  // of these, ended pods
	Phase  string `json:"phase"`
	Reason string `json:"reason,omitempty"`
	Words  string `json:"message,omitempty"`
}

// sampling samples until stop is called, which returns the samples.
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

// firstBound returns the job that had pods on nodes first, or "" if none has.
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

// others returns the number of bound pods of the other jobs, for each sample from the
// first bound pod of job until its first ended pod.
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
