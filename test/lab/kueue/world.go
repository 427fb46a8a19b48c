//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
)

// world is one run of a row.
type world struct {
	*site
	bed     *bed
	row     row
	ns      string // also the name of its queue
	out     string
	trace   *trace
	raw     map[string]any
	figures []figure.Row
	seen    []string
}

// open creates the namespace, and follows its pods.
func (w *world) open(ctx context.Context) (err error) {
	w.ns = w.row.key + "-" + strings.ToLower(rand.Text()[:5])
	if err := w.space(ctx, w.site); err != nil {
		return err
	}
	w.trace, err = follow(ctx, w.client, w.ns)
	return err
}

// space creates the row's namespace on a plane. A namespace refuses pods until it has a service account.
func (w *world) space(ctx context.Context, s *site) error {
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}); err != nil {
		return err
	}
	_, err := s.Kubectl(ctx, w.ns, nil, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
	return err
}

// close deletes what the row made, and waits until its pods are gone, because the next row counts GPUs.
func (w *world) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	w.raw["pods"] = w.trace.stop()
	_, err := w.Kubectl(ctx, w.ns, nil, "delete", "namespace", w.ns, "--wait", "--timeout=80s")
	return err
}

// explain adds the row's objects to an error.
func (w *world) explain(ctx context.Context, err error) error {
	said, _ := w.Kubectl(ctx, w.ns, nil, "get", "launchjobs,workloads.kueue.x-k8s.io,pods", "-o", "wide") // best effort
	more, _ := w.Kubectl(ctx, w.ns, nil, "get", "workloads.kueue.x-k8s.io", "-o", `jsonpath={range .items[*]}{.metadata.name}{"\n"}{range .status.conditions[*]}  {.type}={.status} {.reason}: {.message}{"\n"}{end}{end}`)
	nodes, _ := w.Kubectl(ctx, w.ns, nil, "get", "nodes", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.taints[*].key} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	return fmt.Errorf("%w\n%s%s%s", err, said, more, nodes)
}

// see adds an observation to the table.
func (w *world) see(format string, args ...any) {
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
}

// until waits until so is true.
func (w *world) until(ctx context.Context, what string, limit time.Duration, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return await.Until(ctx, 100*time.Millisecond, what, so)
}

// job reads a LaunchJob.
func (w *world) job(ctx context.Context, s *site, name string) (*v1alpha1.LaunchJob, error) {
	job := &v1alpha1.LaunchJob{}
	return job, s.client.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, job)
}

// becomes waits until ok accepts a job.
func (w *world) becomes(ctx context.Context, name, what string, ok func(*v1alpha1.LaunchJob) bool) (v1alpha1.LaunchJobStatus, error) {
	var last *v1alpha1.LaunchJob
	err := w.until(ctx, name+" to be "+what, time.Minute, func() (so bool, err error) {
		last, err = w.job(ctx, w.site, name)
		return err == nil && ok(last), err
	})
	if err != nil {
		return last.Status, fmt.Errorf("%w: it is %s %s: %s", err, last.Status.Phase, last.Status.Reason, last.Status.Message)
	}
	return last.Status, nil
}

func inPhase(phase string) func(*v1alpha1.LaunchJob) bool {
	return func(j *v1alpha1.LaunchJob) bool { return j.Status.Phase == phase }
}

// waits accepts a job without pods whose message has some words.
func waits(words string) func(*v1alpha1.LaunchJob) bool {
	return func(j *v1alpha1.LaunchJob) bool {
		return j.Status.Phase != v1alpha1.PhaseRunning && j.Status.Reason != "" && strings.Contains(j.Status.Message, words)
	}
}

// pods returns the pods of a job that have not ended and are not being deleted, by name.
func (w *world) pods(ctx context.Context, job string) (map[string]corev1.Pod, error) {
	var list corev1.PodList
	if err := w.client.List(ctx, &list, client.InNamespace(w.ns), client.MatchingLabels{names.LabelJob: job}); err != nil {
		return nil, err
	}
	found := map[string]corev1.Pod{}
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			found[p.Name] = p
		}
	}
	return found, nil
}

// runs waits until a job is Running with exactly n pods, which are all bound to nodes and Running.
func (w *world) runs(ctx context.Context, job string, n int) (map[string]corev1.Pod, error) {
	var pods map[string]corev1.Pod
	if _, err := w.becomes(ctx, job, "Running", inPhase(v1alpha1.PhaseRunning)); err != nil {
		return nil, err
	}
	return pods, w.until(ctx, fmt.Sprintf("%s to have %d pods that run", job, n), time.Minute, func() (bool, error) {
		var err error
		pods, err = w.pods(ctx, job)
		if err != nil || len(pods) != n {
			return false, fmt.Errorf("it has %v: %w", slices.Sorted(maps.Keys(pods)), err)
		}
		for name, p := range pods {
			if p.Status.Phase != corev1.PodRunning {
				return false, fmt.Errorf("%s is %s", name, p.Status.Phase)
			}
		}
		return true, nil
	})
}

// workloads returns the Workloads of a job that are not finished, on a plane.
func (w *world) workloads(ctx context.Context, s *site, job string) (live []*unstructured.Unstructured, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf("WorkloadList").GroupVersionKind())
	if err := s.client.List(ctx, list, client.InNamespace(w.ns)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		u := &list.Items[i]
		for _, o := range u.GetOwnerReferences() {
			if o.Name == job && !conditionOf(u, "Finished").is() {
				live = append(live, u)
			}
		}
	}
	return live, nil
}

// workload waits until a job has exactly one Workload that ok accepts.
func (w *world) workload(ctx context.Context, job, what string, ok func(*unstructured.Unstructured) bool) (u *unstructured.Unstructured, err error) {
	return u, w.until(ctx, "the Workload of "+job+" to be "+what, time.Minute, func() (bool, error) {
		live, err := w.workloads(ctx, w.site, job)
		if err != nil || len(live) != 1 {
			return false, fmt.Errorf("%s has %d Workloads: %w", job, len(live), err)
		}
		u = live[0]
		return ok(u), nil
	})
}

func has(kind string) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool { return conditionOf(u, kind).is() }
}

// used returns how many GPUs of a ClusterQueue are in use, as Kueue counts them.
func (w *world) used(ctx context.Context, queue string) (int64, error) {
	u := kindOf("ClusterQueue")
	if err := w.client.Get(ctx, client.ObjectKey{Name: queue}, u); err != nil {
		return 0, err
	}
	flavors, _, _ := unstructured.NestedSlice(u.Object, "status", "flavorsUsage")
	for _, f := range flavors {
		resources, _, _ := unstructured.NestedSlice(f.(map[string]any), "resources")
		for _, r := range resources {
			if m := r.(map[string]any); m["name"] == gpu {
				var n int64
				_, err := fmt.Sscan(fmt.Sprint(m["total"]), &n)
				return n, err
			}
		}
	}
	return 0, nil
}

// uses waits until n GPUs of the row's queue are in use.
func (w *world) uses(ctx context.Context, n int64) error {
	return w.until(ctx, fmt.Sprintf("%d GPUs to be in use", n), 30*time.Second, func() (bool, error) {
		used, err := w.used(ctx, w.ns)
		if err == nil && used != n {
			err = fmt.Errorf("%d are in use", used)
		}
		return err == nil, err
	})
}
