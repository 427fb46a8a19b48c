package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestFinishedForAnotherCluster checks that MultiKueue finds the end of an object that it has created, whatever its time to
// live is.
func TestFinishedForAnotherCluster(t *testing.T) {
	k, o := aTorch(t)
	set(t, o, int64(0), "runPolicy", "ttlSecondsAfterFinished")
	o.SetLabels(map[string]string{"muster.dev/serve": "true", "kueue.x-k8s.io/multikueue-origin": "multikueue"})
	w := newWorld(t, k, o)
	w.settle()
	w.tells(ended(v1alpha1.PhaseSucceeded))
	w.clock.SetTime(at(60).Add(time.Hour))
	w.settle()
	require.True(t, w.status().is(hasSucceeded))
	require.NotNil(t, w.job())
}

// TestFinishedWithoutLaunchJob checks that a finished object which has no LaunchJob is deleted after its time to live,
// unless its operator keeps it or another operator has finished it.
func TestFinishedWithoutLaunchJob(t *testing.T) {
	taken := func(w *world) {
		require.NoError(w.t, w.truth.Create(w.t.Context(), &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi"}}))
		w.settle()
	}
	for name, tc := range map[string]struct {
		object func(*testing.T) (kind, *unstructured.Unstructured)
		ends   func(*world)
		stays  bool
	}{
		"it cannot be served": {aTorch, taken, false},
		"its LaunchJob was deleted by hand": {aTorch, func(w *world) {
			w.settle()
			w.tells(ended(v1alpha1.PhaseSucceeded))
			w.settle()
			require.NoError(w.t, w.truth.Delete(w.t.Context(), w.job()))
		}, false},
		"its operator keeps it": {anMPIJob, taken, true},
		"another operator has finished it": {aTorch, func(w *world) {
			o, end := w.object(), at(1)
			theirs := status{Conditions: []condition{{Type: hasSucceeded, Status: "True"}}, CompletionTime: &end}
			require.NoError(w.t, theirs.write(o))
			require.NoError(w.t, w.truth.Status().Update(w.t.Context(), o, client.FieldOwner("training-operator")))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			k, o := tc.object(t)
			set(t, o, int64(3600), "runPolicy", "ttlSecondsAfterFinished")
			w := newWorld(t, k, o)
			tc.ends(w)
			require.True(t, w.status().finished())
			w.settle()
			require.NoError(t, w.truth.Get(t.Context(), key, k.empty()), "its time has not come")
			w.clock.SetTime(at(60).Add(time.Hour))
			w.settle()
			left := &unstructured.UnstructuredList{}
			left.SetGroupVersionKind(k.gvk().GroupVersion().WithKind(k.name + "List"))
			require.NoError(t, w.truth.List(t.Context(), left))
			require.Len(t, left.Items, map[bool]int{true: 1}[tc.stays])
		})
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
