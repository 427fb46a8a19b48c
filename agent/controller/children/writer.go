package children

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// FieldManager owns the fields that the controller applies.
const FieldManager = "muster-controller"

// Writer writes the children of jobs.
type Writer struct {
	Client client.Client // reads from the cache
	Reader client.Reader // reads from the API server
}

// Create creates a child. It succeeds if the child exists already, so a repeated create changes
// nothing. That happens if a controller was killed before it saw the child, or if its cache is
// behind.
func (w Writer) Create(ctx context.Context, job *v1alpha1.LaunchJob, child client.Object) error {
	kind := child.GetObjectKind().GroupVersionKind()
	err := w.Client.Create(ctx, child, client.FieldOwner(FieldManager))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(kind)
	if err := w.Reader.Get(ctx, client.ObjectKeyFromObject(child), have); err != nil {
		return client.IgnoreNotFound(err)
	}
	return Ours(job, have, have)
}

// Keep creates a child that is missing, and updates one that differs by server-side apply. It
// returns the child as it was found.
func (w Writer) Keep(ctx context.Context, from client.Reader, job *v1alpha1.LaunchJob, want client.Object) (client.Object, error) {
	have := want.DeepCopyObject().(client.Object)
	err := from.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return want, w.Create(ctx, job, want)
	}
	if err == nil {
		err = Ours(job, want, have)
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
	return have, w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: wanted}), client.FieldOwner(FieldManager), client.ForceOwnership)
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
