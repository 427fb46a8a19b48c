package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// fieldManager owns what we apply.
const fieldManager = "muster-controller"

// takenError says that a child's name belongs to somebody else's object.
type takenError struct{ kind, name string }

func (e *takenError) Error() string {
	return fmt.Sprintf("there is a %s %s that is not this job's: rename one of them", e.kind, e.name)
}

// create makes a child. One of ours that is there already is as good: a second
// create, by a controller that was killed in between or whose cache is late, changes nothing.
func (r *Reconciler) create(ctx context.Context, job *v1alpha1.LaunchJob, child client.Object) error {
	err := r.Client.Create(ctx, child, client.FieldOwner(fieldManager))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	kind := child.GetObjectKind().GroupVersionKind()
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(kind)
	if _, secret := child.(*corev1.Secret); secret {
		return nil // we may not read it
	}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(child), have); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(have, job) {
		return &takenError{kind.Kind, child.GetName()}
	}
	return nil
}

// keep makes a child that is missing, and applies ours anew where same says that
// the one in the cache differs. have is filled from the cache.
func (r *Reconciler) keep(ctx context.Context, job *v1alpha1.LaunchJob, want, have client.Object, same func() bool) error {
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		return r.create(ctx, job, want)
	case err != nil:
		return err
	case !metav1.IsControlledBy(have, job):
		return &takenError{want.GetObjectKind().GroupVersionKind().Kind, want.GetName()}
	case same():
		return nil
	}
	return r.apply(ctx, want)
}

// apply is a server-side apply of a child.
func (r *Reconciler) apply(ctx context.Context, want client.Object) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return fmt.Errorf("convert %s: %w", want.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fieldManager), client.ForceOwnership)
}

// children makes everything but the pods, before them.
func (r *Reconciler) children(ctx context.Context, b builder, s scene) error {
	service, haveService := b.service(), &corev1.Service{}
	if err := r.keep(ctx, b.job, service, haveService, func() bool {
		return equality.Semantic.DeepEqual(service.Spec.Selector, haveService.Spec.Selector) && haveService.Spec.PublishNotReadyAddresses
	}); err != nil {
		return err
	}
	if b.job.Spec.Launcher == nil {
		return nil
	}
	return r.access(ctx, b, taken(s))
}

// access makes what lets the launcher reach its workers.
func (r *Reconciler) access(ctx context.Context, b builder, taken []string) error {
	if account := b.serviceAccount(); account != nil {
		if err := r.keep(ctx, b.job, account, &corev1.ServiceAccount{}, func() bool { return true }); err != nil {
			return err
		}
	}
	role, haveRole := b.role(taken), &rbacv1.Role{}
	if err := r.keep(ctx, b.job, role, haveRole, func() bool { return equality.Semantic.DeepEqual(role.Rules, haveRole.Rules) }); err != nil {
		return err
	}
	binding, haveBinding := b.binding(), &rbacv1.RoleBinding{}
	return r.keep(ctx, b.job, binding, haveBinding, func() bool { return equality.Semantic.DeepEqual(binding.Subjects, haveBinding.Subjects) })
}

// taken lists the names of the worker pods that are there, or about to be.
func taken(s scene) []string {
	var list []string
	for _, p := range s.places {
		if p.pod != nil && !p.launcher() {
			list = append(list, p.pod.Name)
		}
	}
	for _, c := range s.steps.create {
		if !c.slot.launcher() {
			list = append(list, c.name)
		}
	}
	return list
}

// gangObject makes the gang's object, and reads what its scheduler says where pods
// wait for nodes.
func (r *Reconciler) gangObject(ctx context.Context, b builder, s scene) (*obstacle, error) {
	kind, ok := gangKind(backend(b.job))
	if !ok || len(s.steps.create) == 0 && !unscheduled(s.places) {
		return nil, nil
	}
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return &obstacle{reasonNoGang, fmt.Sprintf("gang.backend is %s, and this cluster serves no %s of %s: install it, or choose another", b.job.Spec.Gang.Backend, kind.Kind, kind.Group)}, errNotNow
	}
	if err != nil {
		return nil, err
	}
	want := b.gang(mapping.GroupVersionKind.Version)
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(mapping.GroupVersionKind)
	err = r.Reader.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		return nil, r.create(ctx, b.job, want)
	case err != nil:
		return nil, err
	case !metav1.IsControlledBy(have, b.job):
		return nil, &takenError{kind.Kind, want.GetName()}
	}
	wantSpec, _, _ := unstructured.NestedMap(want.Object, "spec")
	haveSpec, _, _ := unstructured.NestedMap(have.Object, "spec")
	for key, value := range wantSpec {
		if !equality.Semantic.DeepEqual(haveSpec[key], value) {
			return nil, r.apply(ctx, want)
		}
	}
	return gangSays(have), nil
}

// gangSays reads the newest true condition of a gang that is not one of success.
func gangSays(u *unstructured.Unstructured) *obstacle {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for i := len(conditions) - 1; i >= 0; i-- {
		c, _ := conditions[i].(map[string]any)
		kind, _ := c["type"].(string)
		status, _ := c["status"].(string)
		message, _ := c["message"].(string)
		if kind == "Unschedulable" && status == "True" || kind == "PodGroupScheduled" && status == "False" {
			return &obstacle{"GangUnschedulable", clip("PodGroup "+u.GetName()+": "+message, 1000)}
		}
	}
	return nil
}

// errNotNow ends the making of children: an obstacle says why.
var errNotNow = errors.New("not now")

// obstacleOf puts what the API server said about a child into a reason. Other errors
// are nobody's fault and are tried again.
func obstacleOf(err error) *obstacle {
	var taken *takenError
	switch {
	case errors.As(err, &taken):
		return &obstacle{reasonTaken, taken.Error()}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &obstacle{reasonRejected, clip(err.Error(), 1000)}
	}
	return nil
}
