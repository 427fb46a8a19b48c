package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// anMPIJob returns an MPIJob v2beta1, whose workers have no command.
func anMPIJob(t *testing.T) (kind, *unstructured.Unstructured) {
	t.Helper()
	k := aKind(t, "MPIJob", v2)
	o := anObject(t, k, map[string]int{"Launcher": 1, "Worker": 2})
	set(t, o, []any{map[string]any{"name": container(k), "image": "trainer:1"}}, k.specs, "Worker", "template", "spec", "containers")
	return k, o
}

// TestFinishedMPIJobRunsOnce checks that the LaunchJob of an MPIJob v2beta1 is deleted after its time to live. The
// MPIJob has the end before that, and is not run again.
func TestFinishedMPIJobRunsOnce(t *testing.T) {
	for _, ttl := range []int64{0, 3600} {
		k, o := anMPIJob(t)
		set(t, o, ttl, "runPolicy", "ttlSecondsAfterFinished")
		w := newWorld(t, k, o)
		w.settle()
		require.Nil(t, w.job().Spec.RunPolicy.TTLSecondsAfterFinished, "it may be deleted before the MPIJob has its end")
		w.tells(ended(v1alpha1.PhaseSucceeded))
		w.clock.SetTime(at(50).Time)
		w.settle()
		if ttl > 0 {
			require.NotNil(t, w.job())
			w.clock.SetTime(at(50).Add(time.Hour))
			w.settle()
		}
		require.Nil(t, w.job())
		require.True(t, w.status().is(hasSucceeded), "the MPIJob stays")
		require.NotNil(t, w.status().CompletionTime)
		w.settle()
		require.Equal(t, []string{"create pi", "status pi", "status pi", "delete pi"}, w.log, "it is not run again")
	}
}

// TestTimeOfOlderController checks that the LaunchJob of an older controller does not delete itself.
func TestTimeOfOlderController(t *testing.T) {
	k, o := anMPIJob(t)
	w := newWorld(t, k, o)
	w.settle()
	job := w.job()
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	require.NoError(t, w.truth.Update(t.Context(), job))
	w.settle()
	require.Nil(t, w.job().Spec.RunPolicy.TTLSecondsAfterFinished)
}
