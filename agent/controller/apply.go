package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/gang"
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
	kind, ok := gang.Kind(gang.Backend(b.job))
	if !ok || len(s.steps.create) == 0 && !unscheduled(s.places) {
		return nil, nil
	}
	var have client.Object
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	switch {
	case err == nil && gang.Backend(b.job) == gang.Kueue: // Kueue creates its object from the pods
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(mapping.GroupVersionKind)
		have, err = u, client.IgnoreNotFound(r.Reader.Get(ctx, client.ObjectKeyFromObject(b.job), u))
	case err == nil:
		have, err = r.keep(ctx, r.Reader, b.job, b.gang().Object(b.owned(b.job.Name), mapping.GroupVersionKind.Version))
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // NotFound: the cluster served it before, and the mapper still has it
		return nil, &obstacle{reasonNoGang, fmt.Sprintf("gang.backend is %s, but this cluster has no %s of %s: install the scheduler, or choose another backend", gang.Backend(b.job), kind.Kind, kind.Group)}
	}
	if err != nil {
		return nil, err
	}
	why := gang.Says(have.(*unstructured.Unstructured))
	if why == "" {
		return nil, nil
	}
	return &obstacle{reasonGang, clip(why, 1000)}, nil
}

// chooseGang chooses a backend for gang.backend auto, for a job that is about to get its pods.
func (r *Reconciler) chooseGang(job *v1alpha1.LaunchJob, slots []slot) (c choice, err error) {
	g := job.Spec.Gang
	if g == nil || g.Backend != gang.Auto || job.Status.Gang != "" || runPolicy(job).Suspend || job.Status.CompletionTime != nil {
		return c, nil
	}
	claimed := ""
	for _, s := range slots {
		claimed = cmp.Or(claimed, gang.Claimed(s.template.Labels, s.template.Annotations, s.template.Spec.SchedulerName))
	}
	c.backend, c.why, err = gang.Choose(job, claimed, func(kind schema.GroupKind) (bool, error) {
		_, err := r.Client.RESTMapper().RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
	return c, err
}

// choice is the backend that was chosen for gang.backend auto.
type choice struct {
	backend, why string
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
