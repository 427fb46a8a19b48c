//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/lab/kueue/manager"
	"github.com/musterhq/muster/test/lab/plane"
)

// multiKueue is the value of spec.managedBy, and the controller of the admission check.
const multiKueue = "kueue.x-k8s.io/multikueue"

// multikueue creates two jobs on the manager. Each of two worker clusters has room for one of them.
func multikueue(ctx context.Context, w *world) error {
	var far []*site
	for _, name := range []string{"east", "west"} {
		s, err := w.bed.site(ctx, name)
		if err != nil {
			return err
		}
		if err := errors.Join(w.space(ctx, s), w.connect(ctx, s, name), s.apply(ctx, w.ns, queue(w.ns, "any", workers)...)); err != nil {
			return err
		}
		far = append(far, s)
	}
	check := w.ns
	objects := []any{
		object("MultiKueueConfig", check, map[string]any{"clusters": []any{"east", "west"}}),
		object("AdmissionCheck", check, map[string]any{"controllerName": multiKueue, "parameters": map[string]any{"apiGroup": kueueGroup, "kind": "MultiKueueConfig", "name": check}}),
	}
	both := queue(w.ns, "any", 2*workers, func(spec map[string]any) {
		spec["admissionChecksStrategy"] = map[string]any{"admissionChecks": []any{map[string]any{"name": check}}}
	})
	if err := w.apply(ctx, w.ns, append(objects, both...)...); err != nil {
		return err
	}
	away := func(j *v1alpha1.LaunchJob) { j.Spec.ManagedBy = new(multiKueue) }
	if err := w.create(ctx, w.newJob("one", workers, away)); err != nil {
		return err
	}
	one, err := w.runsAt(ctx, far, "one")
	if err != nil {
		return err
	}
	if err := w.create(ctx, w.newJob("two", workers, away)); err != nil {
		return err
	}
	two, err := w.runsAt(ctx, far, "two")
	if err != nil {
		return err
	}
	w.see("one runs on %s, two on %s", one.Name, two.Name)
	clusters := 1
	if one != two {
		clusters = 2
	}
	w.figure("clusters of two jobs, each of which has room for one", clusters, "==", 2, "clusters")
	began := time.Now()
	launcher := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+plane.EndsAfter+`":"0s"}}}`))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "one-" + names.RoleLauncher}}
	if err := one.client.Patch(ctx, pod, launcher); err != nil {
		return err
	}
	if _, err := w.becomes(ctx, "one", "over", inPhase(v1alpha1.PhaseSucceeded)); err != nil {
		return err
	}
	w.figure("seconds until the end of a job comes back", time.Since(began).Seconds(), "<=", 30, "s")
	if err := w.remove(ctx, "two"); err != nil {
		return err
	}
	began = time.Now()
	if err := w.goneFrom(ctx, two, "two"); err != nil {
		return err
	}
	w.figure("seconds until a deleted job is gone from the worker cluster", time.Since(began).Seconds(), "<=", 60, "s")
	w.figure("pods on the manager", created(w.trace.since(0), "one")+created(w.trace.since(0), "two"), "==", 0, "pods")
	return nil
}

// connect makes a plane a worker cluster of the manager.
func (w *world) connect(ctx context.Context, s *site, name string) error {
	text, err := os.ReadFile(s.Kubeconfig)
	if err != nil {
		return err
	}
	secret := corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: manager.Namespace},
		Data: map[string][]byte{"kubeconfig": text}}
	cluster := object("MultiKueueCluster", name, map[string]any{"clusterSource": map[string]any{"kubeConfig": map[string]any{"locationType": "Secret", "location": name}}})
	if err := errors.Join(w.apply(ctx, manager.Namespace, secret), w.apply(ctx, "", cluster)); err != nil {
		return err
	}
	u := kindOf("MultiKueueCluster")
	return w.until(ctx, name+" to be active", time.Minute, func() (bool, error) {
		err := w.client.Get(ctx, client.ObjectKey{Name: name}, u)
		if c := conditionOf(u, "Active"); err == nil && !c.is() {
			err = fmt.Errorf("it is %s: %s", c.Reason, c.Message)
		}
		return err == nil, err
	})
}

// runsAt waits until a job runs whole on one of the clusters, and the manager says so.
func (w *world) runsAt(ctx context.Context, far []*site, name string) (at *site, err error) {
	if _, err := w.becomes(ctx, name, "Running", inPhase(v1alpha1.PhaseRunning)); err != nil {
		return nil, err
	}
	var list corev1.PodList
	err = w.until(ctx, name+" to run on a worker cluster", time.Minute, func() (bool, error) {
		for _, s := range far {
			if err := s.client.List(ctx, &list, client.InNamespace(w.ns), client.MatchingLabels{names.LabelJob: name}); err != nil {
				return false, err
			}
			if len(list.Items) == members {
				at = s
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	status, err := w.becomes(ctx, name, "ready", func(j *v1alpha1.LaunchJob) bool { return j.Status.Ready == fmt.Sprintf("%d/%d", workers, workers) })
	w.raw[name] = map[string]any{"cluster": at.Name, "status": status}
	return at, err
}

// goneFrom waits until a cluster has neither a job, nor its pods, nor its Workload.
func (w *world) goneFrom(ctx context.Context, s *site, name string) error {
	return w.until(ctx, name+" to be gone from "+s.Name, 90*time.Second, func() (bool, error) {
		var pods corev1.PodList
		if err := s.client.List(ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{names.LabelJob: name}); err != nil {
			return false, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kindOf("WorkloadList").GroupVersionKind())
		if err := s.client.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			return false, err
		}
		_, err := w.job(ctx, s, name)
		if !apierrors.IsNotFound(err) {
			return false, errors.Join(err, errors.New("it has the job"))
		}
		for _, u := range list.Items {
			for _, o := range u.GetOwnerReferences() {
				if o.Name == name {
					return false, errors.New("it has the Workload")
				}
			}
		}
		if n := len(pods.Items); n > 0 {
			return false, fmt.Errorf("it has %d pods", n)
		}
		return true, nil
	})
}
