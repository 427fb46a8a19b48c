//go:build !race

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestPodsAreMadeInBatches checks that a reconcile of a large job ends after a batch, so that other
// jobs get a turn. The next one creates the rest. The launcher is in the first batch. It starts no
// goroutine, and a thousand pods take long under the race detector.
func TestPodsAreMadeInBatches(t *testing.T) {
	for _, k := range []kindOfJob{{name: "launcher", led: true, workers: 2*batch + 10}, {name: "members", workers: 2*batch + 10}} {
		t.Run(k.name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			var counts []int
			before := 0
			for range 5 {
				result, err := s.reconciler(s.mine).Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
				require.NoError(t, err)
				now := len(s.pods())
				if now == before {
					continue // this reconcile created only the token, or nothing
				}
				counts = append(counts, now-before)
				before = now
				if all := len(layout(s.job())); now < all {
					require.NotZero(t, result.RequeueAfter)
					require.LessOrEqual(t, result.RequeueAfter, time.Second)
				}
			}
			if k.led {
				require.Equal(t, []int{batch + 1, batch, 10}, counts)
				require.Len(t, s.named(), 2*batch+10)
			} else {
				require.Equal(t, []int{batch, batch, 10}, counts)
			}
		})
	}
}

// TestTooLarge checks that the controller creates no pod for a job with more workers than the flag
// allows, and that the job's reason says so.
func TestTooLarge(t *testing.T) {
	for _, k := range kindsOfJob {
		t.Run(k.name, func(t *testing.T) {
			s := aStory(t, 0, false)
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			look := func(limit int32) {
				r := s.reconciler(s.mine)
				r.MaxWorkers = uint(limit)
				for range 2 { // the first reconcile may create only the token
					_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
					require.NoError(t, err)
				}
			}
			if k.workers > 1 {
				look(k.workers - 1)
				require.Empty(t, s.pods())
				require.Equal(t, v1alpha1.PhaseWaiting, s.job().Status.Phase)
				require.Equal(t, reasonTooLarge, s.job().Status.Reason)
				require.Contains(t, s.job().Status.Message, fmt.Sprintf("has %d workers, but the controller's --max-workers is %d", k.workers, k.workers-1))
			}
			look(k.workers)
			require.Len(t, s.pods(), len(layout(s.job())))
		})
	}
}

// TestServicesAreMadeInBatches checks that the Services of pods are created in batches like the pods, before the pods,
// and that a Service which a user deletes is created again.
func TestServicesAreMadeInBatches(t *testing.T) {
	s, k := aStory(t, 0, false), kindOfJob{name: "members", workers: 2*batch + 10}
	job := k.job(s.key)
	job.Spec.Compat = "kubeflow-v1"
	require.NoError(t, s.truth.Create(t.Context(), job))
	services := func() int {
		var list corev1.ServiceList
		require.NoError(t, s.truth.List(t.Context(), &list, client.InNamespace(s.key.Namespace)))
		return len(list.Items)
	}
	all := int(k.workers) + 1
	for before := 0; before < all; before = services() {
		result, err := s.reconciler(s.mine).Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
		require.NoError(t, err)
		require.Greater(t, services(), before)
		require.LessOrEqual(t, services()-before, batch)
		if services() < all {
			require.Empty(t, s.pods())
			require.NotZero(t, result.RequeueAfter)
			require.LessOrEqual(t, result.RequeueAfter, time.Second)
		}
	}
	s.settle()
	require.Len(t, s.pods(), int(k.workers))
	require.NoError(t, s.truth.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: "pi-worker-7"}}))
	s.settle()
	require.Equal(t, all, services())
}

// TestPodsAreDeletedInBatches checks that a reconcile deletes at most a batch of pods, of a job that is suspended and of
// one that has ended.
func TestPodsAreDeletedInBatches(t *testing.T) {
	for name, stops := range map[string]func(*story){
		"suspended": func(s *story) { s.edit(func(job *v1alpha1.LaunchJob) { job.Spec.RunPolicy.Suspend = true }) },
		"ended": func(s *story) {
			job := s.job()
			job.Status.CompletionTime, job.Status.Phase = &metav1.Time{Time: s.clock.Now().Add(-time.Minute)}, v1alpha1.PhaseFailed
			require.NoError(s.t, s.truth.Status().Update(s.t.Context(), job))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := aStory(t, 0, false), kindOfJob{name: "launcher", led: true, workers: 2 * batch}
			require.NoError(t, s.truth.Create(t.Context(), k.job(s.key)))
			s.settle()
			require.Len(t, s.pods(), int(k.workers)+1)
			stops(s)
			for left := len(s.pods()); left > 0; left = len(s.pods()) {
				result, err := s.reconciler(s.mine).Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
				require.NoError(t, err)
				now := len(s.pods())
				require.Less(t, now, left)
				require.LessOrEqual(t, left-now, batch)
				if now > 0 {
					require.NotZero(t, result.RequeueAfter)
					require.LessOrEqual(t, result.RequeueAfter, time.Second)
				}
			}
		})
	}
}
