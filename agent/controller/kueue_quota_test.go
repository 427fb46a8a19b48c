//go:build !e2e

package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestQuotaIsKeptWhilePodsRun checks that Kueue gets the quota of an ended job back with its last pod.
func TestQuotaIsKeptWhilePodsRun(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	job := s.job()
	job.Spec.RunPolicy = &v1alpha1.RunPolicy{CleanPodPolicy: "None"}
	require.NoError(t, s.truth.Update(t.Context(), job))
	s.settle()
	s.admits("pi")
	s.runsNow()
	ends := endsWith(0, s.clock.Now())
	s.kubelet(func(p *corev1.Pod) {
		if strings.HasSuffix(p.Name, "-launcher") {
			ends(p)
		}
	})
	s.settle()
	s.settle()
	require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
	require.Empty(t, s.condition("pi", "Finished"), "workers still run")
	s.kubelet(ends)
	s.settle()
	require.Equal(t, "True Succeeded", s.condition("pi", "Finished"))
}

// TestTimeToLive checks that a job which has ended is deleted in time, unless MultiKueue has created it and still has to
// copy its end to another cluster.
func TestTimeToLive(t *testing.T) {
	for name, row := range map[string]struct {
		labels map[string]string
		stays  bool
	}{
		"of this cluster":    {map[string]string{"team": "blue"}, false},
		"of another cluster": {map[string]string{"kueue.x-k8s.io/multikueue-origin": "multikueue"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, k := aStory(t, 0, false), kindOfJob{led: true, workers: 1}
			job := k.job(s.key)
			job.Labels, job.Spec.RunPolicy.TTLSecondsAfterFinished = row.labels, new(int32(0))
			require.NoError(t, s.truth.Create(t.Context(), job))
			s.running(k)
			s.kubelet(endsWith(0, s.clock.Now()))
			s.settle()
			err := s.truth.Get(t.Context(), s.key, job)
			require.Equal(t, row.stays, err == nil, "%v", err)
			require.NoError(t, client.IgnoreNotFound(err))
		})
	}
}

// TestEndWithoutKueue checks that the end of a job is seen and its pods are deleted while Workloads cannot be read, as in an
// update of Kueue, whose webhook converts them. Kueue gets the quota back afterwards.
func TestEndWithoutKueue(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s)
	s.settle()
	s.admits("pi")
	s.runsNow()
	down := s.reconciler(interceptor.NewClient(s.mine, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "Workload" {
				return errors.New("conversion webhook failed")
			}
			return c.Get(ctx, key, o, opts...)
		},
	}))
	look := func() {
		s.clock.SetTime(s.clock.Now().Add(time.Minute))
		_, err := down.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
		if s.job().Status.CompletionTime == nil {
			require.ErrorContains(t, err, "conversion webhook failed")
		}
	}
	look()
	require.Len(t, s.pods(), 4, "pods stay")
	s.kubelet(endsWith(0, s.clock.Now()), "pi-launcher")
	for range 4 {
		look()
	}
	require.Equal(t, v1alpha1.PhaseSucceeded, s.job().Status.Phase)
	require.Len(t, s.pods(), 1, "workers hold no GPU")
	require.Empty(t, s.condition("pi", "Finished"))
	s.settle()
	require.Equal(t, "True Succeeded", s.condition("pi", "Finished"))
}
