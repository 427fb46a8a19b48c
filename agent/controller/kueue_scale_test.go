//go:build !e2e

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// reclaimed returns the pods whose quota other jobs may have, as "worker 2".
func (s *story) reclaimed(name string) string {
	s.t.Helper()
	list, _, err := unstructured.NestedSlice(s.workload(name).Object, "status", "reclaimablePods")
	require.NoError(s.t, err)
	var all []string
	for _, p := range list {
		m := p.(map[string]any)
		all = append(all, fmt.Sprint(m["name"], " ", m["count"]))
	}
	return strings.Join(all, ", ")
}

// TestScaledDownWithoutSlices checks that a job which was scaled down gives back the quota of the surplus pods when they
// are gone. It asks for that quota again only in another admission.
func TestScaledDownWithoutSlices(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, elastic(nil))
	s.settle()
	s.admits("pi")
	s.runsNow()
	require.Empty(t, s.reclaimed("pi"))
	last := s.pods()[3]
	last.Finalizers = []string{"test/holds"}
	require.NoError(t, s.truth.Update(t.Context(), &last))
	s.clock.SetTime(time.Now().Add(-time.Hour)) // the pod is within its grace period
	s.scale(2)
	require.Len(t, s.pods(), 4, "a worker is being deleted")
	require.Empty(t, s.reclaimed("pi"))
	require.NoError(t, s.truth.Get(t.Context(), client.ObjectKeyFromObject(&last), &last))
	last.Finalizers = nil
	require.NoError(t, s.truth.Update(t.Context(), &last))
	s.settle()
	require.Len(t, s.pods(), 3)
	require.Equal(t, "worker 1", s.reclaimed("pi"))
	require.Empty(t, s.job().Status.Message)

	s.scale(3)
	require.Len(t, s.pods(), 3, "another job may have the quota")
	require.Contains(t, s.job().Status.Message, "Kueue has admitted 2 pods of the role worker, and the job wants 3: suspend the job and resume it")
	s.says("pi", "Evicted True Preempted for another")
	s.settle()
	require.Empty(t, s.pods())
	require.Empty(t, s.reclaimed("pi"), "the next admission is for all pods")
	s.admits("pi")
	s.runsNow()
	require.Len(t, s.pods(), 4)
}

// TestEvictedMembersAreNeeded checks that a job whose members have ended asks for all of them after an eviction.
func TestEvictedMembersAreNeeded(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, func(job *v1alpha1.LaunchJob) { job.Spec.Launcher, job.Spec.RunPolicy = nil, nil })
	s.settle()
	s.admits("pi")
	s.runsNow()
	s.kubelet(endsWith(0, s.clock.Now()), "pi-worker-2")
	s.settle()
	require.Equal(t, "worker 1", s.reclaimed("pi"))
	s.says("pi", "Evicted True Preempted for another")
	s.settle()
	require.Empty(t, s.reclaimed("pi"))
	s.admits("pi")
	s.runsNow()
	require.Len(t, s.pods(), 3)
}

// TestRestartHasQuota checks that Kueue gets the quota of a member that has ended back only if no other attempt of the
// pods may need it. Kueue returns no quota to a job that it has admitted.
func TestRestartHasQuota(t *testing.T) {
	s := queuedStory(t, 0, false)
	queuedJob(s, func(job *v1alpha1.LaunchJob) { // with backoffLimit 1
		job.Spec.Launcher, job.Spec.RestartPolicy = nil, nil
		job.Spec.Roles[0].Template.Spec.Containers[0].Command = nil
	})
	s.settle()
	s.admits("pi")
	s.runsNow()
	s.kubelet(endsWith(0, s.clock.Now()), "pi-worker-0")
	s.settle()
	require.Empty(t, s.reclaimed("pi"), "the next attempt needs it")
	s.kubelet(endsWith(3, s.clock.Now()))
	s.runsNow()
	require.EqualValues(t, 2, s.job().Status.Attempt)
	require.Len(t, s.pods(), 3)
	s.kubelet(endsWith(0, s.clock.Now()), "pi-worker-0")
	s.settle()
	require.Equal(t, "worker 1", s.reclaimed("pi"), "this attempt is the last one")
}
