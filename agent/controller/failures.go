package controller

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/reports"
)

// standsAfter is the number of failed reconciles in a row after which the job's status reports the
// error.
const standsAfter = 3

// failures counts, for each job, the reconciles in a row that returned an error.
type failures struct {
	mu    sync.Mutex
	times map[types.NamespacedName]int
}

// count records the end of one reconcile and returns how many in a row have failed.
func (f *failures) count(job types.NamespacedName, err error) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.times, job)
		return 0
	}
	if f.times == nil {
		f.times = map[types.NamespacedName]int{}
	}
	f.times[job]++
	return f.times[job]
}

// stands writes a recurring error into the job's reason and into an event. If the job has ended,
// its reason stays, because it says how the job ended.
func (r *Reconciler) stands(ctx context.Context, key types.NamespacedName, failed error) error {
	job := &v1alpha1.LaunchJob{}
	if err := r.Client.Get(ctx, key, job); err != nil {
		return client.IgnoreNotFound(err)
	}
	said := reports.Clip(failed.Error(), 1000)
	if job.Status.Message == said || job.Status.CompletionTime != nil {
		return nil
	}
	job = job.DeepCopy()
	job.Status.Reason, job.Status.Message = reasonFailing, said
	if err := r.Client.Status().Update(ctx, job, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("write the error into the status: %w", err)
	}
	r.Events.Eventf(job, nil, corev1.EventTypeWarning, reasonFailing, "Reconcile", "%s", reports.Clip(said, 900))
	return nil
}
