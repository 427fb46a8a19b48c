//go:build !race

package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestKilledBetweenAnyTwoWrites kills the controller at each of its writes, before and after the
// API server has made it. The remaining objects are the same in all cases. It starts no
// goroutine, so it does not run under the race detector.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	live := func(at int, after bool) (string, int) {
		k, o := aTorch(t)
		w := newWorld(t, k, o)
		w.killAt, w.after = at, after
		w.settle()
		w.tells(isRunning())
		w.settle()
		w.change(func(o *unstructured.Unstructured) { set(t, o, true, "runPolicy", "suspend") })
		w.settle()
		w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseSuspended})
		w.settle()
		w.change(func(o *unstructured.Unstructured) { set(t, o, false, "runPolicy", "suspend") })
		w.settle()
		w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseWaiting})
		w.settle()
		w.tells(isRunning())
		w.settle()
		w.tells(ended(v1alpha1.PhaseSucceeded, role("master", 0, 1, 0), role("worker", 0, 2, 0)))
		w.settle()
		return w.remains(), len(w.log)
	}
	want, writes := live(0, false)
	require.Contains(t, want, "pi: Created=True(PyTorchJobCreated) Suspended=False(PyTorchJobResumed) Running=False(PyTorchJobRunning) Succeeded=True(PyTorchJobSucceeded) ")
	require.GreaterOrEqual(t, writes, 9)
	for n := 1; n <= writes; n++ {
		for _, after := range []bool{false, true} {
			got, _ := live(n, after)
			require.Equal(t, want, got, "killed at write %d, after it: %v", n, after)
		}
	}
}
