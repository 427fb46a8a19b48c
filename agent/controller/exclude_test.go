//go:build !e2e

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/agent/controller/queue"
	"github.com/musterhq/muster/exec/names"
)

// fails ends the container of a worker, as its kubelet reports it.
func (s *story) fails(code int32, words, only string) {
	s.kubelet(func(p *corev1.Pod) {
		endsWith(code, s.clock.Now().Add(-time.Hour))(p)
		p.Status.ContainerStatuses[0].State.Terminated.Message = words
	}, only)
	s.settle()
}

// schedule puts each pod on the first node that it does not avoid, and starts it.
func (s *story) schedule(nodes ...string) {
	for _, p := range s.pods() {
		if p.Spec.NodeName != "" {
			continue
		}
		for _, n := range nodes {
			if !avoids(&p, n) {
				p.Spec.NodeName = n
				break
			}
		}
		require.NoError(s.t, s.truth.Update(s.t.Context(), &p))
	}
	s.starts()
	s.settle()
}

// avoids reports whether a pod without other terms may not go to a node.
func avoids(p *corev1.Pod, node string) bool {
	if p.Spec.Affinity == nil {
		return false
	}
	for _, r := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields {
		if r.Operator == corev1.NodeSelectorOpNotIn && r.Values[0] == node {
			return true
		}
	}
	return false
}

func (s *story) nodeOf(pod string) string {
	var p corev1.Pod
	require.NoError(s.t, s.truth.Get(s.t.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: pod}, &p))
	return p.Spec.NodeName
}

// TestANodeThatFailsTwice checks that new pods avoid a node where two workers failed their preflight,
// until the user empties the list, and again after one more failure.
func TestANodeThatFailsTwice(t *testing.T) {
	s := aStory(t, 0, false)
	job := kindOfJob{led: true, workers: 2}.job(s.key)
	job.Spec.Spares = 1
	require.NoError(t, s.truth.Create(t.Context(), job))
	unfit := "agent worker: " + names.ReplacedWords(names.WhyPreflight) + "\n"
	s.settle()
	s.schedule("n1")
	s.fails(names.ExitReplaced, unfit, "pi-worker-0")
	require.Empty(t, s.job().Status.ExcludedNodes)
	s.schedule("n1")
	s.clock.SetTime(s.clock.Now().Add(time.Hour)) // the fake API server sets no time of creation
	s.fails(names.ExitReplaced, unfit, "pi-worker-0")
	status := s.job().Status
	require.Len(t, status.ExcludedNodes, 1)
	require.Equal(t, []string{"n1", "preflight"}, []string{status.ExcludedNodes[0].Node, status.ExcludedNodes[0].Cause})
	require.Equal(t, []string{"n1", "preflight"}, []string{status.Replaced[1].Node, status.Replaced[1].Cause})
	s.schedule("n1", "n2")
	require.Equal(t, "n2", s.nodeOf("pi-worker-0"))
	require.Equal(t, "n1", s.nodeOf("pi-worker-1"), "pods that run stay")

	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"excludedNodes":[]}}`))
	require.NoError(t, s.truth.Status().Patch(t.Context(), s.job(), patch))
	s.fails(1, "Traceback", "pi-worker-0")
	require.Empty(t, s.job().Status.ExcludedNodes, "old failures alone do not fill the list")
	s.schedule("n1")
	require.Equal(t, "n1", s.nodeOf("pi-worker-0"))
	s.clock.SetTime(s.clock.Now().Add(time.Hour))
	s.fails(names.ExitReplaced, unfit, "pi-worker-0")
	require.Len(t, s.job().Status.ExcludedNodes, 1, "one more failure")
}

// TestAProgramThatAlwaysFails checks that a program that exits with 1 on one node again and again
// excludes no node, whatever replaces its pods.
func TestAProgramThatAlwaysFails(t *testing.T) {
	for name, end := range map[string]struct {
		code  int32
		words string
	}{
		"it exits with 1":          {1, "Traceback"},
		"a rule replaces its pods": {names.ExitReplaced, "agent worker: " + names.ReplacedWords("")},
		"it is out of memory":      {137, "OOMKilled"},
	} {
		s := aStory(t, 0, false)
		require.NoError(t, s.truth.Create(t.Context(), kindOfJob{led: true, workers: 2}.job(s.key)))
		s.settle()
		for range 5 {
			s.schedule("n1")
			s.clock.SetTime(s.clock.Now().Add(time.Hour))
			s.fails(end.code, end.words, "pi-worker-0")
		}
		status := s.job().Status
		require.Len(t, status.Replaced, 5, name)
		require.Empty(t, status.ExcludedNodes, name)
		s.schedule("n1")
		require.Equal(t, "n1", s.nodeOf("pi-worker-0"), name)
	}
}

// TestANodeThatIsGone checks that the pod which replaces one of a silent node avoids the node at once,
// and that the event names the node. If Kueue has placed the pods, the event says that it does not.
func TestANodeThatIsGone(t *testing.T) {
	for backend, want := range map[string]string{
		"none":  "Warning NodeExcluded excluding node node1 for new pods: it failed twice (lost)",
		"kueue": "Warning NodeNotExcluded not excluding node node1, which failed twice (lost): Kueue chooses the nodes of the job (topology-aware scheduling)",
	} {
		job := aJob(t, "mpi")
		job.Status.Attempt = 1
		job.Status.Replaced = []v1alpha1.Replaced{{Pod: "pi-worker-1", UID: "old", Node: "node1", Cause: "lost"}}
		pod := aPod(job, "pi-worker-1", disruptedBy("DeletionByTaintManager"), silentNode, deleted(time.Minute, time.Second))
		s := aStory(t, 0, false)
		r := s.reconciler(s.truth)
		recorder := events.NewFakeRecorder(10)
		s.clock.SetTime(now())
		r.Events = recorder
		b := r.builder(t.Context(), job)
		sc := scene{now: now()}
		if backend == "kueue" {
			sc.line = line{Line: queue.Line{On: true, Decision: kueue.Decision{Keep: true}, Places: placedByKueue(t, r.request(t.Context(), job, "v1beta2"))}}
		}
		sc.places, _ = observe(b.slots, []*corev1.Pod{aPod(job, "pi-launcher"), aPod(job, "pi-worker-0"), pod}, b.attempt, sc.now)
		require.NoError(t, s.truth.Create(t.Context(), job))
		require.NoError(t, r.advance(t.Context(), b, &sc, nil))
		old := job.Status
		r.tell(job, old, newStatus(job, sc), sc)
		require.Contains(t, <-recorder.Events, "replacing pod pi-worker-1")
		require.Equal(t, want, <-recorder.Events, backend)
		if backend == "kueue" {
			continue // the pods wait for Kueue, so no pod is created
		}
		var next corev1.Pod
		require.NoError(t, s.truth.Get(t.Context(), client.ObjectKey{Namespace: "hpc", Name: "pi-worker-1-r1"}, &next))
		require.True(t, avoids(&next, "node1"))
	}
}

// TestExcludedNodesInAPod checks that every pod avoids the excluded nodes.
func TestExcludedNodesInAPod(t *testing.T) {
	for _, backend := range []string{"none", "volcano", "kueue"} {
		job := aJob(t, "mpi")
		job.Spec.Gang = &v1alpha1.Gang{Backend: backend, Queue: "q"}
		job.Status.ExcludedNodes = []v1alpha1.ExcludedNode{{Node: "n3"}, {Node: "n4"}}
		b := aBuilder(job)
		for _, slot := range b.slots {
			pod := b.pod(slot, slot.name)
			require.True(t, avoids(pod, "n3") && avoids(pod, "n4"), "%s of %s", slot.name, backend)
		}
	}
}

// placedByKueue returns what a topology assignment adds to the pods of a job.
func placedByKueue(t *testing.T, want kueue.Request) map[string]kueue.Place {
	w, err := kueue.Read(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"admission": map[string]any{"podSetAssignments": []any{
		map[string]any{"name": "worker", "topologyAssignment": map[string]any{"levels": []any{"kubernetes.io/hostname"}}}}}}}})
	require.NoError(t, err)
	return w.Places(want.PodSets)
}
