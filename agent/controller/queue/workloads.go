package queue

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/exec/names"
)

// workloadKind returns the kind of Workloads in the version that the cluster prefers.
func (c Client) workloadKind() (schema.GroupVersionKind, error) {
	kind, _ := gang.Kind(gang.Kueue)
	mapping, err := c.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return schema.GroupVersionKind{}, &gang.Missing{Backend: gang.Kueue, Kind: kind}
	}
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("look for %s of %s: %w", kind.Kind, kind.Group, err)
	}
	return mapping.GroupVersionKind, nil
}

// prebuilt returns the Workload that a label of the job names, or "". A label that is set on a job which has a Workload of
// its own has no effect until the job is suspended, when it gives that up. The label of an elastic job names one slice after
// another.
func (c Client) prebuilt(ctx context.Context, job *v1alpha1.LaunchJob, kind schema.GroupVersionKind) (string, error) {
	name := kueue.Labels(job.Labels).Prebuilt()
	if name == "" || name == job.Name || kueue.Elastic(job.Annotations) {
		return name, nil
	}
	own := &metav1.PartialObjectMetadata{}
	own.SetGroupVersionKind(kind)
	err := c.Reader.Get(ctx, client.ObjectKeyFromObject(job), own)
	switch {
	case err == nil && metav1.IsControlledBy(own, job):
		return "", nil
	case client.IgnoreNotFound(err) != nil:
		return "", fmt.Errorf("read the job's Workload: %w", err)
	}
	return name, nil
}

// workloads reads the Workloads of a job: the prebuilt one or the one with the job's name, and the others of an elastic
// job.
func (c Client) workloads(ctx context.Context, job *v1alpha1.LaunchJob, kind schema.GroupVersionKind, prebuilt string) (all []*kueue.Workload, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	err = c.Reader.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: cmp.Or(prebuilt, job.Name)}, u)
	switch {
	case unserved(err):
		return nil, &gang.Missing{Backend: gang.Kueue, Kind: kind.GroupKind()}
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("read the job's Workload: %w", err)
	case prebuilt != "" && metav1.GetControllerOf(u) == nil:
		if err := c.adopt(ctx, job, u); err != nil {
			return nil, err
		}
	case children.Ours(job, u, u) != nil:
		return nil, children.Ours(job, u, u)
	}
	if err == nil {
		all = append(all, nil)
		if all[0], err = kueue.Read(u); err != nil {
			return nil, err
		}
	}
	if prebuilt != "" || !kueue.Elastic(job.Annotations) && (len(all) == 0 || !all[0].Sliced()) {
		return all, nil
	}
	return c.slices(ctx, job, kind)
}

// slices lists the Workloads of an elastic job.
func (c Client) slices(ctx context.Context, job *v1alpha1.LaunchJob, kind schema.GroupVersionKind) (all []*kueue.Workload, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.Reader.List(ctx, list, client.InNamespace(job.Namespace), client.MatchingLabels{names.LabelJob: job.Name}); err != nil {
		return nil, fmt.Errorf("list the job's Workloads: %w", err)
	}
	for i := range list.Items {
		if !metav1.IsControlledBy(&list.Items[i], job) {
			continue
		}
		w, err := kueue.Read(&list.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// adopt makes a prebuilt Workload the job's own.
func (c Client) adopt(ctx context.Context, job *v1alpha1.LaunchJob, u *unstructured.Unstructured) error {
	w, err := kueue.Read(u)
	if err != nil {
		return err
	}
	if next := w.Adopt(kueue.Request{Meta: children.Meta(job, u.GetName())}); next != nil {
		if err := c.Client.Update(ctx, next, client.FieldOwner(children.FieldManager)); err != nil {
			return fmt.Errorf("adopt Workload %s: %w", u.GetName(), err)
		}
		u.Object = next.Object
	}
	return nil
}

// unserved reports whether the API server has answered that it does not serve the kind, not that there is no object.
func unserved(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
