package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// fieldManager owns the fields that the controller applies.
const fieldManager = "muster-controller"

// obstacle is the reason why a job does not run: one word and a sentence. As an error it stops the
// creation of children.
type obstacle struct{ reason, message string }

func (o *obstacle) Error() string { return o.message }

// ours returns an error if an object with the name of a child belongs to another owner.
func ours(job *v1alpha1.LaunchJob, want, have client.Object) error {
	if metav1.IsControlledBy(have, job) {
		return nil
	}
	return &obstacle{reasonTaken, fmt.Sprintf("%s %s exists and does not belong to this job: rename one of them", want.GetObjectKind().GroupVersionKind().Kind, want.GetName())}
}

// create creates a child. It succeeds if the child exists already, so a repeated create changes
// nothing. That happens if a controller was killed before it saw the child, or if its cache is
// behind.
func (r *Reconciler) create(ctx context.Context, job *v1alpha1.LaunchJob, child client.Object) error {
	kind := child.GetObjectKind().GroupVersionKind()
	err := r.Client.Create(ctx, child, client.FieldOwner(fieldManager))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(kind)
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(child), have); err != nil {
		return client.IgnoreNotFound(err)
	}
	return ours(job, have, have)
}

// keep creates a child that is missing, and updates one that differs by server-side apply. It
// returns the child as it was found.
func (r *Reconciler) keep(ctx context.Context, from client.Reader, job *v1alpha1.LaunchJob, want client.Object) (client.Object, error) {
	have := want.DeepCopyObject().(client.Object)
	err := from.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return want, r.create(ctx, job, want)
	}
	if err == nil {
		err = ours(job, want, have)
	}
	if err != nil {
		return nil, err
	}
	wanted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	there, unread := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
	if err := errors.Join(err, unread); err != nil {
		return nil, fmt.Errorf("convert %s: %w", want.GetName(), err)
	}
	delete(wanted, "status")
	said := maps.Clone(wanted)
	maps.DeleteFunc(said, func(field string, _ any) bool { return field == "apiVersion" || field == "kind" || field == "metadata" })
	if contains(there, said) {
		return have, nil
	}
	return have, r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: wanted}), client.FieldOwner(fieldManager), client.ForceOwnership)
}

// contains reports whether an object has all wanted fields. Defaults that the API server adds are
// no difference.
func contains(have, want any) bool {
	fields, ok := want.(map[string]any)
	if !ok {
		return equality.Semantic.DeepEqual(have, want)
	}
	there, _ := have.(map[string]any)
	for name, value := range fields {
		if !contains(there[name], value) {
			return false
		}
	}
	return true
}

// gangObject creates the object of the gang. If pods are unscheduled, it also reads what the gang's
// scheduler reports.
func (r *Reconciler) gangObject(ctx context.Context, b builder, s scene) (*obstacle, error) {
	kind, ok := gangKind(backend(b.job))
	if !ok || len(s.steps.create) == 0 && !unscheduled(s.places) {
		return nil, nil
	}
	var have client.Object
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	switch {
	case err == nil && backend(b.job) == kueue: // Kueue creates its object from the pods
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(mapping.GroupVersionKind)
		have, err = u, client.IgnoreNotFound(r.Reader.Get(ctx, client.ObjectKeyFromObject(b.job), u))
	case err == nil:
		have, err = r.keep(ctx, r.Reader, b.job, b.gang(mapping.GroupVersionKind.Version))
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // NotFound: the cluster served it before, and the mapper still has it
		return nil, &obstacle{reasonNoGang, fmt.Sprintf("gang.backend is %s, but this cluster has no %s of %s: install the scheduler, or choose another backend", b.job.Spec.Gang.Backend, kind.Kind, kind.Group)}
	}
	if err != nil {
		return nil, err
	}
	return gangSays(have.(*unstructured.Unstructured)), nil
}

// gangSays returns the newest condition of a gang, unless it is one of success. Volcano leaves both
// of its conditions True, in their old places. Kubernetes 1.36 reports PodGroupScheduled, 1.37
// reports PodGroupInitiallyScheduled, and Kueue reports QuotaReserved.
func gangSays(u *unstructured.Unstructured) (says *obstacle) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	newest := ""
	for i := range conditions {
		c, _ := conditions[i].(map[string]any)
		at, _ := c["lastTransitionTime"].(string)
		switch bad := c["type"] == "Unschedulable" && c["status"] == "True" ||
			c["status"] == "False" && slices.Contains([]any{"PodGroupScheduled", "PodGroupInitiallyScheduled", "QuotaReserved"}, c["type"]); {
		case bad && at >= newest:
			newest, says = at, &obstacle{reasonGang, clip(fmt.Sprintf("%s %s: %v", u.GetKind(), u.GetName(), c["message"]), 1000)}
		case c["type"] == "Scheduled" && at >= newest:
			newest, says = at, nil
		}
	}
	return says
}

// obstacleOf converts the API server's rejection of a child into an obstacle. Other errors are
// temporary and are retried.
func obstacleOf(err error) *obstacle {
	var o *obstacle
	if !errors.As(err, &o) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
		o = &obstacle{reasonRejected, clip(err.Error(), 1000)}
	}
	return o
}
