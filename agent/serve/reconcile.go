package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/kubeflow"
)

// fieldManager owns the fields that are written here, and distinguishes our statuses from others.
const fieldManager = "muster-controller"

// Reconciler handles one object of its kind at a time. It remembers only what it has reported.
type Reconciler struct {
	Kind     kind
	Client   client.Client // reads from the cache
	Reader   client.Reader // reads from the API server
	Events   events.EventRecorder
	Clock    clock.PassiveClock
	Convert  func(object map[string]any) kubeflow.Result
	Confined bool   // it serves only some namespaces, and cannot read their labels
	Preview  *print // the dry run; nil: none
	said     sync.Map
}

// soon is after what time a reconcile that came too early is repeated.
const soon = time.Second

// Reconcile moves one object forward.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := r.Kind.empty()
	if err := r.Client.Get(ctx, req.NamespacedName, o); err != nil {
		if apierrors.IsNotFound(err) {
			r.said.Delete(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if o.GetDeletionTimestamp() != nil { // the garbage collector deletes the LaunchJob
		return reconcile.Result{}, nil
	}
	if ok, err := r.consents(ctx, o); err != nil || !ok {
		return reconcile.Result{}, err
	}
	s, err := readStatus(o)
	if err != nil {
		return reconcile.Result{}, err
	}
	job := &v1alpha1.LaunchJob{}
	err = client.IgnoreNotFound(r.Client.Get(ctx, req.NamespacedName, job))
	switch {
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("read LaunchJob %s: %w", o.GetName(), err)
	case metav1.IsControlledBy(job, o):
		return r.goOn(ctx, o, s, job)
	case r.isLeft(o, s):
		return reconcile.Result{}, nil
	case s.finished():
		return r.expire(ctx, o, s, nil)
	}
	return r.take(ctx, o, s, job)
}

// goOn carries changes of an object to its LaunchJob, and the job's status back.
func (r *Reconciler) goOn(ctx context.Context, o *unstructured.Unstructured, s status, job *v1alpha1.LaunchJob) (reconcile.Result, error) {
	if r.Preview != nil {
		return reconcile.Result{}, nil
	}
	if s.finished() {
		return r.expire(ctx, o, s, job)
	}
	if job.Status.Reason == nameTaken {
		who, err := r.foreign(ctx, o)
		if err != nil || who != "" {
			return retry(errors.Join(err, r.yield(ctx, o, s, job, who)))
		}
	}
	failed := r.follow(ctx, o, job)
	result, err := r.report(ctx, o, s, newStatus(r.Kind, o, s, job.Status, r.now())) // whatever the change is, the job goes on
	if apierrors.IsForbidden(failed) {
		r.unchanged(o, failed.Error())
		return reconcile.Result{RequeueAfter: lookAgain}, err
	}
	if failed != nil {
		return retry(errors.Join(failed, err))
	}
	return result, err
}

// take starts with an object that no other operator has touched. other is an existing LaunchJob of
// the same name.
func (r *Reconciler) take(ctx context.Context, o *unstructured.Unstructured, s status, other *v1alpha1.LaunchJob) (reconcile.Result, error) {
	if wait := early(o, r.Clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	who, err := r.foreign(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	job, warnings, sentence := r.convert(o)
	if r.Preview != nil {
		return reconcile.Result{}, r.Preview.object(o, who, job, warnings, sentence)
	}
	if who != "" {
		return retry(r.leave(ctx, o, s, who))
	}
	if sentence == "" && other.Name != "" {
		if ref := metav1.GetControllerOf(other); ref != nil && ref.Kind == r.Kind.name && ref.Name == o.GetName() {
			return reconcile.Result{RequeueAfter: soon}, nil // it belongs to a deleted object of that name, and will be deleted too
		}
		sentence = fmt.Sprintf("LaunchJob %s exists and does not belong to this object: rename one of them", o.GetName())
	}
	if sentence == "" {
		sentence, err = r.make(ctx, o, job, warnings)
		if apierrors.IsForbidden(err) { // by a quota, a policy, or for want of a right
			r.Events.Eventf(o, nil, corev1.EventTypeWarning, "NotCreated", "Create", "%s", clip(err.Error()))
			return reconcile.Result{RequeueAfter: lookAgain}, nil
		}
		if err != nil {
			return retry(err)
		}
	}
	if sentence != "" {
		return r.report(ctx, o, s, refused(r.Kind, o, s, clip(sentence), r.now()))
	}
	return r.report(ctx, o, s, newStatus(r.Kind, o, s, job.Status, r.now()))
}

// expire deletes a finished object when its time has come. mpi-operator keeps the object, and gives the time to its
// launcher, so of an MPIJob v2beta1 only the LaunchJob is deleted. An object has none (nil) if it could not be served, if a
// user deleted the LaunchJob, or if another operator has finished the object, which then stays.
func (r *Reconciler) expire(ctx context.Context, o *unstructured.Unstructured, s status, job *v1alpha1.LaunchJob) (reconcile.Result, error) {
	seconds, ok := ttl(o)
	if !ok || s.CompletionTime == nil || job == nil && (r.Kind.version == v2 || r.Preview != nil) {
		return reconcile.Result{}, nil
	}
	if left := time.Duration(seconds)*time.Second - r.Clock.Now().Sub(s.CompletionTime.Time); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	if job == nil {
		if who, err := r.foreign(ctx, o); err != nil || who != "" {
			return reconcile.Result{}, err
		}
	}
	var over client.Object = o
	if r.Kind.version == v2 {
		over = job
	}
	uid := over.GetUID()
	err := r.Client.Delete(ctx, over, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// report writes the status once if it has changed, and emits events for transitions.
func (r *Reconciler) report(ctx context.Context, o *unstructured.Unstructured, old, s status) (reconcile.Result, error) {
	result := reconcile.Result{}
	if s.finished() {
		if _, ok := ttl(o); ok {
			result.RequeueAfter = soon
		}
	}
	if equality.Semantic.DeepEqual(old, s) {
		return result, nil
	}
	next := o.DeepCopy()
	if err := s.write(next); err != nil {
		return result, err
	}
	if err := r.Client.Status().Update(ctx, next, client.FieldOwner(fieldManager)); err != nil {
		return retry(err)
	}
	for _, c := range s.Conditions {
		if have := old.find(c.Type); have != nil && have.Status == c.Status && have.Reason == c.Reason || c.Status != "True" && c.Type != isSuspended {
			continue
		}
		level := corev1.EventTypeNormal
		if c.Type == hasFailed || c.Type == restarting {
			level = corev1.EventTypeWarning
		}
		r.Events.Eventf(o, nil, level, c.Reason, "Reconcile", "%s", clip(c.Message))
	}
	return result, nil
}

// retry repeats a reconcile if the cache is behind.
func retry(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// now returns the time as a status stores it, in whole seconds.
func (r *Reconciler) now() metav1.Time { return metav1.NewTime(r.Clock.Now().Truncate(time.Second)) }
