package serve

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// servedNow returns a world in which a job of an object runs.
func servedNow(t *testing.T, k kind, o *unstructured.Unstructured, roles ...v1alpha1.RoleStatus) *world {
	t.Helper()
	w := newWorld(t, k, o)
	w.settle()
	w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseRunning, Roles: roles})
	w.settle()
	require.True(t, w.status().is(running))
	w.heard()
	return w
}

// TestSuspendAfterBadEdit checks that an object with an edit that its LaunchJob cannot have can still be suspended. It is
// shown as suspended when its LaunchJob is, and until the edit is corrected.
func TestSuspendAfterBadEdit(t *testing.T) {
	k, o := anMPIJob(t)
	w := servedNow(t, k, o, role("launcher", 1, 0, 0), role("worker", 2, 0, 0))
	commands := func(words ...any) {
		w.change(func(o *unstructured.Unstructured) {
			c := map[string]any{"name": container(k), "image": "trainer:1"}
			if len(words) > 0 {
				c["command"] = words
			}
			set(t, o, []any{c}, k.specs, "Launcher", "template", "spec", "containers")
		})
		w.settle()
	}
	suspends := func(yes bool) {
		w.change(func(o *unstructured.Unstructured) { set(t, o, yes, "runPolicy", "suspend") })
		w.settle()
	}
	commands()
	require.Contains(t, w.heard()[0], "Warning ChangeNotCarried spec.mpiReplicaSpecs.Launcher")
	suspends(true)
	require.True(t, w.job().Spec.RunPolicy.Suspend)
	require.Nil(t, w.status().find(isSuspended), "its pods still run")
	w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseSuspended})
	w.settle()
	require.True(t, w.status().is(isSuspended))
	suspends(false)
	require.True(t, w.job().Spec.RunPolicy.Suspend, "it cannot be built")
	require.True(t, w.status().is(isSuspended))
	commands("mpirun")
	require.False(t, w.job().Spec.RunPolicy.Suspend)
	w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseWaiting})
	w.settle()
	require.False(t, w.status().is(isSuspended))
}

// TestChangeIsForbidden checks that an object whose change cannot be carried for now says so in an event, and that its status
// still follows its LaunchJob.
func TestChangeIsForbidden(t *testing.T) {
	k, o := aTorch(t)
	w := servedNow(t, k, o, role("master", 1, 0, 0), role("worker", 2, 0, 0))
	whole := w.r.Client
	w.r.Client = interceptor.NewClient(w.truth, interceptor.Funcs{Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "muster.dev", Resource: "launchjobs"}, "pi", errors.New("denied by a policy"))
	}})
	look := func() {
		result, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		require.NoError(t, err)
		require.Equal(t, lookAgain, result.RequeueAfter)
	}
	w.change(func(o *unstructured.Unstructured) { set(t, o, true, "runPolicy", "suspend") })
	look()
	heard := w.heard()
	require.Len(t, heard, 1)
	require.Contains(t, heard[0], "Warning ChangeNotCarried")
	require.Contains(t, heard[0], "denied by a policy")
	require.Nil(t, w.status().find(isSuspended), "its pods run")
	require.True(t, w.status().is(running))
	w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseRestarting, Roles: []v1alpha1.RoleStatus{role("master", 1, 0, 0), role("worker", 1, 0, 0)}})
	look()
	require.True(t, w.status().is(restarting))
	w.r.Client = whole
	w.settle()
	require.True(t, w.job().Spec.RunPolicy.Suspend)
}

// TestEndWithoutFollowing checks that an object gets the end of its LaunchJob although a change cannot be carried to it.
func TestEndWithoutFollowing(t *testing.T) {
	k, o := aTorch(t)
	w := servedNow(t, k, o, role("master", 1, 0, 0), role("worker", 2, 0, 0))
	w.tells(ended(v1alpha1.PhaseSucceeded, role("master", 0, 1, 0), role("worker", 1, 1, 0)))
	w.change(func(o *unstructured.Unstructured) { set(t, o, int64(60), "runPolicy", "activeDeadlineSeconds") })
	w.r.Client = interceptor.NewClient(w.truth, interceptor.Funcs{Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
		return errors.New("the server is on fire")
	}})
	_, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	require.ErrorContains(t, err, "on fire")
	require.True(t, w.status().is(hasSucceeded))
}
