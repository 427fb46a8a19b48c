package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kueue"
)

// ErrStale means that the next reconcile must look again. No user sees it.
var ErrStale = errors.New("stale")

// Step makes the decision's write. Another one may have changed the Workload meanwhile, so the next reconcile looks
// again.
func (c Client) Step(ctx context.Context, job *v1alpha1.LaunchJob, d kueue.Decision) (err error) {
	switch d.Step {
	case kueue.Create:
		err = c.Create(ctx, job, d.Object)
		if unserved(err) || apierrors.IsNotFound(err) {
			return &gang.Missing{Backend: gang.Kueue, Kind: d.Object.GroupVersionKind().GroupKind()}
		}
	case kueue.Update:
		err = c.Client.Update(ctx, d.Object, client.FieldOwner(children.FieldManager))
	case kueue.UpdateStatus:
		err = c.Client.Status().Update(ctx, d.Object, client.FieldOwner(children.FieldManager))
	case kueue.Delete:
		uid := d.Object.GetUID()
		err = c.Client.Delete(ctx, d.Object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	if apierrors.IsConflict(err) || d.Step != kueue.Create && apierrors.IsNotFound(err) {
		return ErrStale
	}
	return err
}

// Leave deletes the Workloads of a suspended job, so that others get its quota. While pods still use that, it only
// reports that it waits.
func (c Client) Leave(ctx context.Context, job *v1alpha1.LaunchJob, l Line, alive int, now time.Time) (waits bool, err error) {
	if len(l.All) == 0 || l.prebuilt != "" { // a prebuilt one is not ours to make again
		return false, nil
	}
	if alive > 0 {
		return true, nil
	}
	for _, w := range l.All {
		if err := c.Step(ctx, job, kueue.Leave(w, now)); err != nil && !errors.Is(err, ErrStale) {
			return false, fmt.Errorf("give up Workload %s: %w", w.Name, err)
		}
	}
	return false, nil
}

// Conclude ends the Workloads of a job that has ended.
func (c Client) Conclude(ctx context.Context, job *v1alpha1.LaunchJob, l Line, now time.Time) error {
	for _, w := range l.All {
		next := w.End(job.Status.Phase == v1alpha1.PhaseSucceeded, job.Status.Message, now)
		if next == nil {
			continue
		}
		if err := c.Step(ctx, job, kueue.Decision{Step: kueue.UpdateStatus, Object: next}); err != nil {
			return fmt.Errorf("finish Workload %s: %w", w.Name, err)
		}
	}
	return nil
}
