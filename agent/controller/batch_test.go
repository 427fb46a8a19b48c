//go:build !race

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
