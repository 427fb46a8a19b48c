package progress

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
)

// Errors of write.
var (
	errNotYours = errors.New("the pod does not belong to this job")
	errOver     = errors.New("the job has ended, so it takes no reports")
	errTooSoon  = errors.New("the last report is too recent")
)

// every is the shortest time between two reports of a job that are written. Kubeflow's clients keep
// it by themselves.
const every = 5 * time.Second

// writer writes reports into the status of jobs.
type writer struct {
	api   client.Client // reads from a cache
	owner string        // field manager

	mu   sync.Mutex
	last map[types.UID]time.Time // of the job: when a report was written
}

// write writes a report that a pod has sent about a job.
func (w *writer) write(ctx context.Context, from sender, key client.ObjectKey, report *v1alpha1.TrainerStatus) error {
	job, pod := &v1alpha1.LaunchJob{}, &corev1.Pod{}
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: from.namespace, Name: from.pod}, pod); err != nil {
		return notYours(err)
	}
	if err := w.api.Get(ctx, key, job); err != nil {
		return notYours(err)
	}
	if from.namespace != key.Namespace || string(pod.UID) != from.uid || pod.Labels[names.LabelJob] != job.Name || !metav1.IsControlledBy(pod, job) {
		return errNotYours
	}
	done := report.ProgressPercentage != nil && *report.ProgressPercentage == 100 // the last one of a program
	if !w.due(job.UID, report.LastUpdatedTime.Time, done) {
		return errTooSoon
	}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if job.Status.CompletionTime != nil {
			return errOver
		}
		next := job.DeepCopy()
		next.Status.TrainerStatus, next.Status.Progress = report, Text(report)
		err := w.api.Status().Update(ctx, next, client.FieldOwner(w.owner))
		if err != nil {
			err = errors.Join(err, w.api.Get(ctx, key, job))
		}
		return err
	})
	if err != nil {
		w.forget(job.UID, report.LastUpdatedTime.Time)
	}
	return err
}

// notYours hides whether an object exists from pods that it does not concern.
func notYours(err error) error {
	if client.IgnoreNotFound(err) == nil {
		return errNotYours
	}
	return fmt.Errorf("read the job: %w", err)
}

// due reports whether a report may be written now, and remembers that.
func (w *writer) due(job types.UID, now time.Time, done bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.last[job]; ok && now.Sub(last) < every && !done {
		return false
	}
	for uid, last := range w.last {
		if now.Sub(last) >= every {
			delete(w.last, uid)
		}
	}
	w.last[job] = now
	return true
}

// forget lets the next report of a job be written, because the one of that time was not.
func (w *writer) forget(job types.UID, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last[job].Equal(at) {
		delete(w.last, job)
	}
}
