//go:build !e2e

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

var workloadKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}

// queuedStory returns a story in a cluster with Kueue, which the test plays.
func queuedStory(t *testing.T, at int, after bool) *story {
	t.Helper()
	s := &story{t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), key: client.ObjectKey{Namespace: "hpc", Name: "pi"}}
	scheme := testScheme(t)
	require.NoError(t, schedulingv1.AddToScheme(scheme))
	for _, kind := range []string{"Workload", "ResourceFlavor", "WorkloadPriorityClass"} {
		scheme.AddKnownTypeWithName(workloadKind.GroupVersion().WithKind(kind), &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(workloadKind.GroupVersion().WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	of := &unstructured.Unstructured{}
	of.SetGroupVersionKind(workloadKind)
	s.truth = fakeapi.New(scheme).WithStatusSubresource(&v1alpha1.LaunchJob{}, &corev1.Pod{}, of).
		WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).Build()
	s.mine = limited(t, s.truth)
	s.m = &mortal{WithWatch: s.mine, at: at, after: after}
	flavor := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"nodeLabels":  map[string]any{"pool": "a100"},
		"tolerations": []any{map[string]any{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}},
	}}}
	flavor.SetGroupVersionKind(workloadKind.GroupVersion().WithKind("ResourceFlavor"))
	flavor.SetName("gpus")
	require.NoError(t, s.truth.Create(t.Context(), flavor))
	return s
}

// queuedJob returns a job in a queue.
func queuedJob(s *story, change ...func(*v1alpha1.LaunchJob)) *v1alpha1.LaunchJob {
	job := kindOfJob{led: true, workers: 3}.job(s.key)
	job.UID, job.Generation = "u-1", 1
	job.Spec.Gang = &v1alpha1.Gang{Backend: "kueue", Queue: "gold"}
	for _, f := range change {
		f(job)
	}
	require.NoError(s.t, s.truth.Create(s.t.Context(), job))
	return job
}

func elastic(annotations map[string]string) func(*v1alpha1.LaunchJob) {
	return func(job *v1alpha1.LaunchJob) {
		job.Annotations, job.Spec.Elastic = annotations, &v1alpha1.Elastic{Min: 2, Max: 8}
	}
}

// workload reads a Workload; nil: there is none.
func (s *story) workload(name string) *unstructured.Unstructured {
	s.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(workloadKind)
	err := s.truth.Get(s.t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: name}, u)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	require.NoError(s.t, err)
	return u
}

// says sets conditions of a Workload, as Kueue does: "Evicted=True Preempted to make room".
func (s *story) says(name string, conditions ...string) {
	s.t.Helper()
	u := s.workload(name)
	require.NotNil(s.t, u)
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(s.t, err)
	var typed []metav1.Condition
	for _, c := range list {
		m := c.(map[string]any)
		typed = append(typed, metav1.Condition{Type: m["type"].(string), Status: metav1.ConditionStatus(m["status"].(string)), Reason: m["reason"].(string), Message: m["message"].(string)})
	}
	for _, c := range conditions {
		var kind, status, reason string
		_, err := fmt.Sscanf(c, "%s %s %s", &kind, &status, &reason)
		require.NoError(s.t, err)
		meta.SetStatusCondition(&typed, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: c[len(kind)+len(status)+len(reason)+3:], LastTransitionTime: metav1.NewTime(s.clock.Now())})
	}
	list = nil
	for _, c := range typed {
		list = append(list, map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message, "lastTransitionTime": s.clock.Now().UTC().Format(time.RFC3339)})
	}
	require.NoError(s.t, unstructured.SetNestedSlice(u.Object, list, "status", "conditions"))
	require.NoError(s.t, s.truth.Status().Update(s.t.Context(), u))
}

// admits admits a Workload with all its pods, or with so many workers.
func (s *story) admits(name string, workers ...int64) {
	s.t.Helper()
	u := s.workload(name)
	require.NotNil(s.t, u, name)
	sets, _, err := unstructured.NestedSlice(u.Object, "spec", "podSets")
	require.NoError(s.t, err)
	var list []any
	for _, set := range sets {
		m := set.(map[string]any)
		count := m["count"].(int64)
		if m["name"] == "worker" && len(workers) > 0 {
			count = workers[0]
		}
		list = append(list, map[string]any{"name": m["name"], "count": count, "flavors": map[string]any{"cpu": "gpus", "nvidia.com/gpu": "gpus"}})
	}
	require.NoError(s.t, unstructured.SetNestedField(u.Object, map[string]any{"clusterQueue": "cluster", "podSetAssignments": list}, "status", "admission"))
	require.NoError(s.t, s.truth.Status().Update(s.t.Context(), u))
	s.says(name, "QuotaReserved True QuotaReserved reserved", "Admitted True Admitted admitted", "Evicted False QuotaReserved before")
}

// condition returns a condition of a Workload as "True Reason".
func (s *story) condition(name, kind string) string {
	s.t.Helper()
	list, _, err := unstructured.NestedSlice(s.workload(name).Object, "status", "conditions")
	require.NoError(s.t, err)
	for _, c := range list {
		if m := c.(map[string]any); m["type"] == kind {
			return fmt.Sprintf("%s %s", m["status"], m["reason"])
		}
	}
	return ""
}

// runsNow settles, starts the pods, and requires that the job runs.
func (s *story) runsNow() {
	s.t.Helper()
	for range 3 {
		s.settle()
		s.starts()
	}
	s.settle()
	status := s.job().Status
	require.Equal(s.t, v1alpha1.PhaseRunning, status.Phase, "%s: %s", status.Reason, status.Message)
}
