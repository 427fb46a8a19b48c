package serve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

func aTorch(t *testing.T) (kind, *unstructured.Unstructured) {
	k := aKind(t, "PyTorchJob", "v1")
	return k, anObject(t, k, map[string]int{"Master": 1, "Worker": 2})
}

func ended(phase string, roles ...v1alpha1.RoleStatus) v1alpha1.LaunchJobStatus {
	end := at(50)
	return v1alpha1.LaunchJobStatus{Phase: phase, CompletionTime: &end, Roles: roles}
}

func isRunning() v1alpha1.LaunchJobStatus {
	return v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseRunning, Roles: []v1alpha1.RoleStatus{role("master", 1, 0, 0), role("worker", 2, 0, 0)}}
}

// TestServed runs one object from its creation to its success.
func TestServed(t *testing.T) {
	k, o := aTorch(t)
	w := newWorld(t, k, o)
	w.settle()
	job := w.job()
	require.NotNil(t, job)
	require.True(t, metav1.IsControlledBy(job, w.object()))
	require.Equal(t, "kubeflow-v1", job.Spec.Compat)
	require.Nil(t, job.Spec.Agent, "the controller chooses how the agent gets into the pods")
	require.Nil(t, job.Spec.RunPolicy.TTLSecondsAfterFinished)
	require.Equal(t, "Created=True(PyTorchJobCreated) ", line(w.status()))
	require.Equal(t, []string{"create pi", "status pi"}, w.log, "the status is written once")

	w.tells(isRunning())
	w.settle()
	require.Equal(t, "Created=True(PyTorchJobCreated) Running=True(PyTorchJobRunning) ", line(w.status()))
	w.tells(ended(v1alpha1.PhaseSucceeded, role("master", 0, 1, 0), role("worker", 1, 1, 0)))
	w.settle()
	require.Equal(t, "Created=True(PyTorchJobCreated) Running=False(PyTorchJobRunning) Succeeded=True(PyTorchJobSucceeded) ", line(w.status()))
	require.Equal(t, int32(2), w.status().ReplicaStatuses["Worker"].Succeeded)
	require.Equal(t, []string{"create pi", "status pi", "status pi", "status pi"}, w.log)
	require.Equal(t, []string{
		"Normal PyTorchJobCreated PyTorchJob pi is created.", "Normal PyTorchJobRunning PyTorchJob pi is running.",
		"Normal PyTorchJobSucceeded PyTorchJob pi is successfully completed.",
	}, w.heard())
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	require.NoError(t, unstructured.SetNestedField(o.Object, value, append([]string{"spec"}, path...)...))
}

// TestConsent checks which objects are served.
func TestConsent(t *testing.T) {
	for name, c := range map[string]struct {
		object, namespace, managedBy string
		confined                     bool
		served                       bool
	}{
		"no label":                                   {"", "", "", false, false},
		"label on the object":                        {"true", "", "", false, true},
		"label on the namespace":                     {"", "true", "", false, true},
		"the object opts out":                        {"false", "true", "", false, false},
		"the namespace opts out":                     {"", "false", "", false, false},
		"the object opts in, the namespace opts out": {"true", "false", "", false, true},
		"managed by Kueue elsewhere":                 {"true", "", "kueue.x-k8s.io/multikueue", false, false},
		"managed by its own operator":                {"true", "true", "kubeflow.org/training-operator", false, false},
		"managed by Muster":                          {"", "true", "muster.dev/controller", false, true},
		"managed by Muster, without a label":         {"", "", "muster.dev/controller", false, false},
		"an unreadable namespace":                    {"", "true", "", true, false},
		"a confined controller":                      {"true", "", "", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			k, o := aTorch(t)
			o.SetLabels(label(c.object))
			if c.managedBy != "" {
				set(t, o, c.managedBy, "runPolicy", "managedBy")
			}
			w := newWorld(t, k, o)
			w.r.Confined = c.confined
			require.NoError(t, w.truth.Update(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hpc", Labels: label(c.namespace)}}))
			w.settle()
			require.Equal(t, c.served, w.job() != nil)
			if !c.served {
				require.Empty(t, w.log)
				require.Empty(t, w.heard())
			}
		})
	}
}

func label(value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{"muster.dev/serve": value}
}

// TestForeign checks that an object that another operator has touched is left to that operator.
func TestForeign(t *testing.T) {
	theirs := status{Conditions: []condition{{Type: created, Status: "True", Reason: "PyTorchJobCreated"}, {Type: running, Status: "True", Reason: "PyTorchJobRunning"}}}
	t.Run("status", func(t *testing.T) {
		k, o := aTorch(t)
		w := newWorld(t, k, o)
		writes := func() {
			o := w.object()
			require.NoError(t, theirs.write(o))
			require.NoError(t, unstructured.SetNestedField(o.Object, "kept", "status", "ofTheirOwn"))
			require.NoError(t, w.truth.Status().Update(t.Context(), o, client.FieldOwner("training-operator")))
		}
		writes()
		w.settle()
		require.Nil(t, w.job())
		require.Equal(t, "MusterServes=False(OwnedByAnotherOperator) Created=True(PyTorchJobCreated) Running=True(PyTorchJobRunning) ", line(w.status()), "kubectl's columns show the last condition")
		require.Equal(t, "left alone: its status is written by training-operator", w.status().Conditions[0].Message)
		kept, _, _ := unstructured.NestedString(w.object().Object, "status", "ofTheirOwn")
		require.Equal(t, "kept", kept)
		require.Len(t, w.heard(), 1)
		writes() // this write also removes our condition
		w.settle()
		require.Equal(t, []string{"status pi"}, w.log, "the controller does not fight over the status")
		require.Empty(t, w.heard())
	})
	for _, child := range []client.Object{&corev1.Pod{}, &corev1.Service{}} {
		t.Run("child", func(t *testing.T) {
			k, o := aTorch(t)
			child.SetName("pi-master-0")
			child.SetNamespace("hpc")
			child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: k.name, Name: "pi", UID: o.GetUID()}})
			w := newWorld(t, k, o, child)
			w.settle()
			require.Nil(t, w.job())
			require.Empty(t, w.log)
			heard := w.heard()
			require.Len(t, heard, 1)
			require.Contains(t, heard[0], "pi-master-0 was made by another operator")
		})
	}
	t.Run("pods appear later", func(t *testing.T) {
		k, o := aTorch(t)
		w := newWorld(t, k, o)
		w.settle()
		w.tells(v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseWaiting, Reason: "NameTaken"})
		w.settle()
		require.NotNil(t, w.job(), "the existing object does not belong to an operator")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi-master-0",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: k.name, Name: "pi", UID: o.GetUID()}}}}
		require.NoError(t, w.truth.Create(t.Context(), pod))
		w.settle()
		require.Nil(t, w.job(), "the other operator owns the object, because its pods exist")
		require.Equal(t, "MusterServes=False(OwnedByAnotherOperator) Created=True(PyTorchJobCreated) ", line(w.status()))
	})
	t.Run("new object", func(t *testing.T) {
		k, o := aTorch(t)
		o.SetCreationTimestamp(noon())
		w := newWorld(t, k, o)
		result, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		require.NoError(t, err)
		require.Equal(t, watchFirst, result.RequeueAfter)
		require.Empty(t, w.log)
		w.clock.SetTime(noon().Add(watchFirst))
		w.settle()
		require.NotNil(t, w.job())
	})
	t.Run("managed by Muster", func(t *testing.T) {
		k, o := aTorch(t)
		o.SetCreationTimestamp(noon())
		set(t, o, "muster.dev/controller", "runPolicy", "managedBy")
		w := newWorld(t, k, o)
		w.settle()
		require.NotNil(t, w.job(), "an object managed by Muster is served at once")
	})
}

// TestFollows checks that the LaunchJob follows changes of the object.
func TestFollows(t *testing.T) {
	k, o := aTorch(t)
	set(t, o, true, "runPolicy", "suspend")
	w := newWorld(t, k, o)
	w.settle()
	require.True(t, w.job().Spec.RunPolicy.Suspend)
	require.Equal(t, "Created=True(PyTorchJobCreated) Suspended=True(PyTorchJobSuspended) ", line(w.status()))
	w.change(func(o *unstructured.Unstructured) { // like a queue that admits the job
		set(t, o, map[string]any{"pool": "a"}, k.specs, "Worker", "template", "spec", "nodeSelector")
		set(t, o, false, "runPolicy", "suspend")
	})
	w.settle()
	require.False(t, w.job().Spec.RunPolicy.Suspend)
	require.Equal(t, map[string]string{"pool": "a"}, w.job().Spec.Roles[1].Template.Spec.NodeSelector)
	w.tells(isRunning())
	w.settle()
	w.heard()
	w.change(func(o *unstructured.Unstructured) {
		set(t, o, int64(60), "runPolicy", "activeDeadlineSeconds")
		set(t, o, int64(7), k.specs, "Worker", "replicas")
		set(t, o, map[string]any{"pool": "b"}, k.specs, "Worker", "template", "spec", "nodeSelector")
	})
	w.settle()
	require.Equal(t, int64(60), *w.job().Spec.RunPolicy.ActiveDeadlineSeconds)
	require.Equal(t, int32(2), *w.job().Spec.Workers)
	require.Equal(t, map[string]string{"pool": "a"}, w.job().Spec.Roles[1].Template.Spec.NodeSelector, "the template of existing pods must not change")
	heard := w.heard()
	require.Len(t, heard, 1)
	require.Contains(t, heard[0], "Warning ChangeNotCarried workers can be changed only in an elastic job")
}

// TestOffAndOn checks that without the label the LaunchJob keeps running, but the object's status
// is not updated.
func TestOffAndOn(t *testing.T) {
	k, o := aTorch(t)
	w := newWorld(t, k, o)
	w.settle()
	w.change(func(o *unstructured.Unstructured) { o.SetLabels(nil) })
	w.tells(isRunning())
	w.settle()
	require.NotNil(t, w.job())
	require.Equal(t, "Created=True(PyTorchJobCreated) ", line(w.status()))
	w.change(func(o *unstructured.Unstructured) { o.SetLabels(label("true")) })
	w.settle()
	require.True(t, w.status().is(running))
}

// TestCannotBeServed checks that the condition has the reason why an object cannot be served.
func TestCannotBeServed(t *testing.T) {
	t.Run("no command", func(t *testing.T) {
		k := aKind(t, "MPIJob", "v2beta1")
		o := anObject(t, k, map[string]int{"Launcher": 1, "Worker": 2})
		containers := []any{map[string]any{"name": "mpi", "image": "trainer:1"}}
		set(t, o, containers, k.specs, "Launcher", "template", "spec", "containers")
		set(t, o, containers, k.specs, "Worker", "template", "spec", "containers")
		w := newWorld(t, k, o)
		w.settle()
		require.Nil(t, w.job())
		require.Equal(t, "Created=True(MPIJobCreated) Failed=True(MusterCannotServe) ", line(w.status()))
		require.Contains(t, w.status().find(hasFailed).Message, "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].command: ")
		require.NotNil(t, w.status().CompletionTime)
	})
	t.Run("the LaunchJob is refused", func(t *testing.T) {
		k, o := aTorch(t)
		w := newWorld(t, k, o)
		w.settle()
		refusal := ended(v1alpha1.PhaseFailed)
		refusal.Reason, refusal.Message = "Refused", "two gang schedulers"
		w.tells(refusal)
		w.settle()
		require.Equal(t, "Created=True(PyTorchJobCreated) Failed=True(MusterCannotServe) ", line(w.status()))
		require.Equal(t, "two gang schedulers", w.status().find(hasFailed).Message)
	})
	t.Run("the name is taken", func(t *testing.T) {
		k, o := aTorch(t)
		w := newWorld(t, k, o, &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi"}})
		w.settle()
		require.Contains(t, w.status().find(hasFailed).Message, "LaunchJob pi exists and does not belong to this object")
	})
	t.Run("the old owner's LaunchJob still has the name", func(t *testing.T) {
		k, o := aTorch(t)
		before := o.DeepCopy()
		before.SetUID("before")
		old := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "hpc", Name: "pi", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(before, k.gvk())}}}
		w := newWorld(t, k, o, old)
		result, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		require.NoError(t, err)
		require.Equal(t, soon, result.RequeueAfter)
		require.Empty(t, w.log)
	})
}

// TestLaunchJobIsForbidden checks that an event of the object says why its LaunchJob cannot be created for now, and that it is
// created when that has changed.
func TestLaunchJobIsForbidden(t *testing.T) {
	k, o := aTorch(t)
	w := newWorld(t, k, o)
	whole := w.r.Client
	w.r.Client = interceptor.NewClient(w.truth, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "muster.dev", Resource: "launchjobs"}, "pi", errors.New("exceeded quota: few"))
	}})
	result, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	require.NoError(t, err)
	require.Equal(t, lookAgain, result.RequeueAfter)
	require.Equal(t, []string{`Warning NotCreated create LaunchJob pi: launchjobs.muster.dev "pi" is forbidden: exceeded quota: few`}, w.heard())
	w.r.Client = whole
	w.settle()
	require.NotNil(t, w.job())
}

// TestExpires checks that a finished object is deleted after its time to live, if its operator did
// that.
func TestExpires(t *testing.T) {
	k, o := aTorch(t)
	set(t, o, int64(3600), "runPolicy", "ttlSecondsAfterFinished")
	w := newWorld(t, k, o)
	w.settle()
	w.tells(ended(v1alpha1.PhaseSucceeded))
	w.settle()
	w.clock.SetTime(at(50).Add(time.Hour))
	result, err := w.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	require.NoError(t, err)
	require.Zero(t, result.RequeueAfter)
	require.Error(t, w.truth.Get(t.Context(), key, k.empty()))
}

// TestDryRun checks that a dry run prints each object once, and writes nothing.
func TestDryRun(t *testing.T) {
	k, o := aTorch(t)
	set(t, o, "unheard of", "somethingNew")
	set(t, o, []any{map[string]any{"name": "pytorch", "image": "trainer:1", "command": []any{"train"}, "env": []any{
		map[string]any{"name": "EPOCHS", "value": "90"}, map[string]any{"name": "DB_PASSWORD", "value": "hunter2"},
	}}}, k.specs, "Worker", "template", "spec", "containers")
	w := newWorld(t, k, o)
	var out strings.Builder
	w.r.Preview = &print{out: &out, seen: map[string]bool{}}
	w.settle()
	w.settle()
	require.Empty(t, w.log)
	require.Empty(t, w.heard())
	require.Equal(t, 1, strings.Count(out.String(), "# dry run: PyTorchJob hpc/pi would become this\n"))
	require.Contains(t, out.String(), "# not carried: spec.somethingNew: ")
	require.Contains(t, out.String(), "kind: LaunchJob\n")
	require.Contains(t, out.String(), `value: "90"`)
	require.NotContains(t, out.String(), "hunter2")
	var made v1alpha1.LaunchJob
	require.NoError(t, yaml.UnmarshalStrict([]byte(out.String()), &made), "the output must be a valid LaunchJob")
	require.Equal(t, "pi", made.Name)
}
