package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/test/suite/fakeapi"
)

// world holds an API server in memory with one object, and a controller that may be killed.
type world struct {
	t      *testing.T
	kind   kind
	truth  client.WithWatch
	clock  *clocktesting.FakePassiveClock
	events *events.FakeRecorder
	r      *Reconciler
	log    []string // writes of the controller
	killAt int      // number of the write at which the controller is killed; 0 means never
	after  bool     // kill the controller after the API server has made the write
	dead   bool
}

var errKilled = errors.New("killed")

func newWorld(t *testing.T, k kind, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	scheme.AddKnownTypeWithName(k.gvk(), &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(k.gvk().GroupVersion().WithKind(k.name+"List"), &unstructured.UnstructuredList{})
	w := &world{t: t, kind: k, clock: clocktesting.NewFakePassiveClock(noon().Time), events: events.NewFakeRecorder(100)}
	w.truth = fakeapi.New(scheme).WithStatusSubresource(&v1alpha1.LaunchJob{}, k.empty()).WithReturnManagedFields().
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hpc"}}).Build()
	for _, o := range objects {
		require.NoError(t, w.truth.Create(t.Context(), o, client.FieldOwner("kubectl")))
	}
	w.begin()
	return w
}

// begin starts another controller.
func (w *world) begin() {
	c := w.mortal()
	w.dead = false
	w.r = &Reconciler{Kind: w.kind, Client: c, Reader: c, Events: w.events, Clock: w.clock, Convert: convert}
}

// mortal returns a client whose process may be killed at a write.
func (w *world) mortal() client.Client {
	write := func(what string, o client.Object, do func() error) error {
		if w.dead {
			return errKilled
		}
		w.log = append(w.log, what+" "+o.GetName())
		if len(w.log) != w.killAt {
			return do()
		}
		w.dead = true
		if w.after {
			_ = do()
		}
		return errKilled
	}
	return interceptor.NewClient(w.truth, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.dead {
				return errKilled
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetGeneration(1)
			return write("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write(sub, o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

var key = client.ObjectKey{Namespace: "hpc", Name: "pi"}

// settle reconciles until a reconcile writes nothing. After a kill it starts another controller.
func (w *world) settle() {
	w.t.Helper()
	for range 20 {
		before := len(w.log)
		_, err := w.r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key})
		if w.dead {
			w.begin()
			continue
		}
		require.NoError(w.t, err)
		if len(w.log) == before {
			return
		}
		w.clock.SetTime(w.clock.Now().Add(time.Second))
	}
	w.t.Fatalf("the controller never stops writing: %v", w.log)
}

func (w *world) object() *unstructured.Unstructured {
	o := w.kind.empty()
	require.NoError(w.t, w.truth.Get(w.t.Context(), key, o))
	return o
}

func (w *world) status() status {
	s, err := readStatus(w.object())
	require.NoError(w.t, err)
	return s
}

// job returns the LaunchJob of the object, or nil.
func (w *world) job() *v1alpha1.LaunchJob {
	job := &v1alpha1.LaunchJob{}
	err := w.truth.Get(w.t.Context(), key, job)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return job
}

// change edits the object like a user.
func (w *world) change(edit func(o *unstructured.Unstructured)) {
	o := w.object()
	edit(o)
	o.SetGeneration(o.GetGeneration() + 1)
	require.NoError(w.t, w.truth.Update(w.t.Context(), o, client.FieldOwner("kubectl")))
}

// tells sets the status of the LaunchJob, like its own controller.
func (w *world) tells(status v1alpha1.LaunchJobStatus) {
	job := w.job()
	job.Status = status
	require.NoError(w.t, w.truth.Status().Update(w.t.Context(), job, client.FieldOwner("muster-controller")))
}

// heard returns the events since the last call.
func (w *world) heard() (all []string) {
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// remains returns the final state, without times.
func (w *world) remains() string {
	var jobs v1alpha1.LaunchJobList
	require.NoError(w.t, w.truth.List(w.t.Context(), &jobs))
	var names []string
	for _, j := range jobs.Items {
		names = append(names, j.Name)
	}
	slices.Sort(names)
	return fmt.Sprintf("%s: %s%v", strings.Join(names, ","), line(w.status()), w.status().ReplicaStatuses)
}
