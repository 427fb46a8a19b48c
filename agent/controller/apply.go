package controller

import (
	"cmp"
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/queue"
	"github.com/musterhq/muster/agent/controller/reports"
)

// fieldManager owns the fields that the controller applies.
const fieldManager = children.FieldManager

// obstacle is the reason why a job does not run: one word and a sentence. As an error it stops the
// creation of children.
type obstacle struct{ reason, message string }

func (o *obstacle) Error() string { return o.message }

// children returns the writer of the job's objects.
func (r *Reconciler) children() children.Writer {
	return children.Writer{Client: r.Client, Reader: r.Reader}
}

// gangKind returns the kind of the gang's object that is created with the pods. That of Kueue comes before them.
func gangKind(job *v1alpha1.LaunchJob) (schema.GroupKind, bool) {
	if name := gang.Backend(job); name != gang.Kueue {
		return gang.Kind(name)
	}
	return schema.GroupKind{}, false
}

// gangObject creates the object of the gang. If pods are unscheduled, it also reads what the gang's
// scheduler reports.
func (r *Reconciler) gangObject(ctx context.Context, b builder, s scene) (*obstacle, error) {
	kind, ok := gangKind(b.job)
	if !ok || len(s.steps.create) == 0 && !unscheduled(s.places) {
		return nil, nil
	}
	var have client.Object
	mapping, err := r.Client.RESTMapper().RESTMapping(kind)
	if err == nil {
		have, err = r.children().Keep(ctx, r.Reader, b.job, b.gang().Object(children.Meta(b.job, b.job.Name), mapping.GroupVersionKind.Version))
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // NotFound: the cluster served it before, and the mapper still has it
		return nil, &gang.Missing{Backend: gang.Backend(b.job), Kind: kind}
	}
	if err != nil {
		return nil, err
	}
	why := gang.Says(have.(*unstructured.Unstructured))
	if why == "" {
		return nil, nil
	}
	return &obstacle{reasonGang, reports.Clip(why, 1000)}, nil
}

// chooseGang chooses a backend for a job that is about to get its pods, unless its spec names one.
func (r *Reconciler) chooseGang(job *v1alpha1.LaunchJob, slots []slot) (c choice, err error) {
	if delegated(job) || job.Status.Gang != "" || runPolicy(job).Suspend || job.Status.CompletionTime != nil {
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

// choice is what gang.Choose has chosen.
type choice struct {
	backend, why string
}

// obstacleOf converts an error that only a user or an administrator can end into an obstacle: the API server's
// rejection of a child, or what a package has found. Other errors are temporary and are retried.
func obstacleOf(err error) *obstacle {
	var (
		o       *obstacle
		taken   *children.Taken
		missing *gang.Missing
		queued  *queue.Obstacle
	)
	switch {
	case errors.As(err, &o):
		return o
	case errors.As(err, &taken):
		return &obstacle{reasonTaken, taken.Error()}
	case errors.As(err, &missing):
		return &obstacle{reasonNoGang, missing.Error()}
	case errors.As(err, &queued):
		return &obstacle{ofKueue[queued.Reason], queued.Message}
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return &obstacle{reasonRejected, reports.Clip(err.Error(), 1000)}
	}
	return nil
}
