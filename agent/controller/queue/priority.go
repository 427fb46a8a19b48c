package queue

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/kueue"
)

// priority reads the priority of a job: by its label for Kueue, else by the class of its pods, else the cluster's
// default.
func (c Client) priority(ctx context.Context, job *v1alpha1.LaunchJob, roles []kueue.PodSet) (*kueue.Priority, error) {
	if class := kueue.Labels(job.Labels).PriorityClass(); class != "" {
		u := &unstructured.Unstructured{}
		kind, err := c.workloadKind()
		if err != nil {
			return nil, err
		}
		u.SetGroupVersionKind(kind.GroupVersion().WithKind("WorkloadPriorityClass"))
		err = c.Reader.Get(ctx, client.ObjectKey{Name: class}, u)
		if apierrors.IsNotFound(err) {
			return nil, &Obstacle{kueue.Rejected, fmt.Sprintf("there is no WorkloadPriorityClass %s, which a label of the job names: create it, or change the label", class)}
		}
		if err != nil {
			return nil, fmt.Errorf("read WorkloadPriorityClass %s: %w", class, err)
		}
		value, _, err := unstructured.NestedInt64(u.Object, "value")
		return &kueue.Priority{Class: class, OfKueue: true, Value: int32(value)}, err
	}
	class := ptr.Deref(job.Spec.Gang, v1alpha1.Gang{}).PriorityClassName
	for _, s := range roles {
		class = cmp.Or(class, s.Template.Spec.PriorityClassName)
	}
	return c.priorityOfPods(ctx, class)
}

// priorityOfPods reads a priority class, or the default if class is "".
func (c Client) priorityOfPods(ctx context.Context, class string) (*kueue.Priority, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClassList"})
	err := c.Reader.List(ctx, list)
	if apierrors.IsForbidden(err) && class == "" {
		return &kueue.Priority{}, nil // a controller for some namespaces may not list them
	}
	if err != nil {
		return nil, fmt.Errorf("list priority classes: %w", err)
	}
	found := &kueue.Priority{}
	for _, u := range list.Items {
		value, _, _ := unstructured.NestedInt64(u.Object, "value")
		byDefault, _, _ := unstructured.NestedBool(u.Object, "globalDefault")
		if u.GetName() == class || class == "" && byDefault && (found.Class == "" || int32(value) < found.Value) {
			found = &kueue.Priority{Class: u.GetName(), Value: int32(value)}
		}
	}
	if class != "" && found.Class == "" {
		return nil, &Obstacle{kueue.Rejected, fmt.Sprintf("there is no PriorityClass %s, which the job names: create it, or name another", class)}
	}
	return found, nil
}
