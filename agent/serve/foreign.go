package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// watchFirst is the minimum age of an object before it is taken, unless its managedBy names Muster.
// Another operator that serves its namespace has touched it by then.
const watchFirst = 3 * time.Second

// early returns how long an object is still too young to be taken.
func early(o *unstructured.Unstructured, now time.Time) time.Duration {
	if managedBy(o) == names.Controller {
		return 0
	}
	return max(0, watchFirst-now.Sub(o.GetCreationTimestamp().Time))
}

// foreign says in a sentence which other operator has touched an object, or returns "". It asks the
// API server, because the caches hold only our own pods, and do not show who wrote a field.
func (r *Reconciler) foreign(ctx context.Context, o *unstructured.Unstructured) (string, error) {
	live := r.Kind.empty()
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if who := writer(live); who != "" {
		return "its status is written by " + who, nil
	}
	for _, child := range []string{"Pod", "Service"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: child + "List"})
		if err := r.Reader.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			return "", fmt.Errorf("look for children of %s: %w", o.GetName(), err)
		}
		for _, c := range list.Items {
			if slices.ContainsFunc(c.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == o.GetUID() }) {
				return fmt.Sprintf("its %s %s was made by another operator", child, c.Name), nil
			}
		}
	}
	return "", nil
}

// writer returns who else has written the status of an object.
func writer(live *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	ours := false
	for _, f := range live.GetManagedFields() {
		switch {
		case !ownsStatus(f):
		case f.Manager != fieldManager:
			return f.Manager
		default:
			ours = true
		}
	}
	if len(conditions) > 0 && !ours {
		return "another operator"
	}
	return ""
}

// ownsStatus reports whether a field manager of an object has written fields of its status.
func ownsStatus(f metav1.ManagedFieldsEntry) bool {
	var fields map[string]json.RawMessage
	if f.FieldsV1 == nil || json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields) != nil {
		return f.Subresource == "status"
	}
	return fields["f:status"] != nil
}

// The condition of an object that is left alone. Its type is not one of the operators', and it
// comes first.
const (
	serves        = "MusterServes"
	ownedByOthers = "OwnedByAnotherOperator"
)

// notice is what was reported about an object.
type notice struct {
	uid     types.UID
	written bool // the condition was written
}

// isLeft reports whether everything has been reported about an object that is left alone.
func (r *Reconciler) isLeft(o *unstructured.Unstructured, s status) bool {
	said, _ := r.said.Load(client.ObjectKeyFromObject(o))
	n, _ := said.(notice)
	return s.find(serves) != nil || n.uid == o.GetUID() && n.written
}

// leave reports that an object is left alone: by an event and, once it has a status, by a
// condition. The condition is written only once, because the owner of that status may remove it.
func (r *Reconciler) leave(ctx context.Context, o *unstructured.Unstructured, s status, sentence string) error {
	key := client.ObjectKeyFromObject(o)
	said, _ := r.said.Load(key)
	n, _ := said.(notice)
	sentence = "left alone: " + sentence
	if n.uid != o.GetUID() {
		n = notice{uid: o.GetUID()}
		r.Events.Eventf(o, nil, corev1.EventTypeNormal, ownedByOthers, "Reconcile", "%s", sentence)
	}
	var err error
	if len(s.Conditions) > 0 {
		now := metav1.NewTime(r.Clock.Now())
		c := condition{Type: serves, Status: "False", Reason: ownedByOthers, Message: sentence, LastUpdateTime: now, LastTransitionTime: now}
		err = r.prepend(ctx, o, c)
		n.written = err == nil
	}
	r.said.Store(key, n)
	return err
}

// nameTaken is the LaunchJob's reason when another owner has a Service or a pod with one of its
// names.
const nameTaken = "NameTaken"

// yield returns an object to an operator that created its children before it touched the object.
// The LaunchJob, which could create none, is deleted.
func (r *Reconciler) yield(ctx context.Context, o *unstructured.Unstructured, s status, job *v1alpha1.LaunchJob, who string) error {
	if who == "" {
		return nil
	}
	uid := job.UID
	err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete LaunchJob %s: %w", job.Name, err)
	}
	return r.leave(ctx, o, s, who)
}

// prepend puts a condition before those of another operator, whose status is otherwise kept.
func (r *Reconciler) prepend(ctx context.Context, o *unstructured.Unstructured, c condition) error {
	o = o.DeepCopy()
	first, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
	if err != nil {
		return fmt.Errorf("convert a condition of %s: %w", o.GetName(), err)
	}
	rest, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err == nil {
		err = unstructured.SetNestedSlice(o.Object, append([]any{first}, rest...), "status", "conditions")
	}
	if err != nil {
		return fmt.Errorf("read the conditions of %s: %w", o.GetName(), err)
	}
	return r.Client.Status().Update(ctx, o, client.FieldOwner(fieldManager))
}
