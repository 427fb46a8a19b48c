package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/agent/controller/queue"
	"github.com/musterhq/muster/exec/names"
)

// stand does what a place in Kueue's line asks for: it writes the Workload, tells Kueue about the pods, and reads what
// new pods need. Without an admission it also takes the rights of the launcher, as a suspended job has none.
func (r *Reconciler) stand(ctx context.Context, b builder, s *scene) error {
	l := s.line
	if !l.On {
		return nil
	}
	if l.refused != nil {
		return l.refused
	}
	var err error
	switch {
	case l.Step != kueue.Nothing:
		err = r.queue().Step(ctx, b.job, l.Decision)
		s.steps.again(0)
	case l.Current != nil:
		err = r.followed(ctx, b, s)
	}
	if errors.Is(err, queue.ErrStale) {
		s.steps.again(time.Second)
		err = nil
	}
	if err != nil {
		return err
	}
	switch {
	case l.Pods:
		return r.flavors(ctx, b, s)
	case l.Keep:
		return nil
	}
	s.blocked = l.obstacle()
	return r.revoke(ctx, b)
}

// followed tells Kueue whether the pods that the job needs are ready, and which have ended for good.
func (r *Reconciler) followed(ctx context.Context, b builder, s *scene) error {
	p := kueue.Progress{Succeeded: map[string]int{}}
	var pods []*corev1.Pod
	led, ready, wanted := true, 0, -int(b.job.Spec.Spares)
	again := verdict{again: true}.retried(b.job, b.attempt) // it needs quota for all pods
	for _, place := range s.places {
		if place.pod != nil {
			pods = append(pods, place.pod)
		}
		over := place.stage == done && place.code == 0
		up := place.ready || place.unwell() || over
		switch {
		case place.launcher():
			led = up
		case up:
			wanted++
			ready++
		default:
			wanted++
		}
		if over && b.job.Spec.Launcher == nil && !again { // a launcher may want another worker in its place
			p.Succeeded[place.role]++
		}
	}
	p.Ready = len(s.places) > 0 && led && enough(b.job, ready, wanted)
	if s.alive == alive(pods, s.now) { // no other pod still uses quota
		p.Unwanted = s.line.Current.Unwanted(s.line.Want)
	}
	if next := s.line.Current.Follow(p, s.now); next != nil {
		return r.queue().Step(ctx, b.job, kueue.Decision{Step: kueue.UpdateStatus, Object: next})
	}
	return nil
}

// flavors reads what new pods need besides their templates.
func (r *Reconciler) flavors(ctx context.Context, b builder, s *scene) error {
	var pods []string
	for _, c := range s.steps.create {
		pods = append(pods, c.slot.role)
	}
	templates := map[string]*corev1.PodTemplateSpec{}
	for _, slot := range b.slots {
		templates[slot.role] = slot.template
	}
	return r.queue().Flavors(ctx, s.line.Line, pods, templates)
}

// leave gives up the place of a suspended job, when no pod uses its quota any more.
func (r *Reconciler) leave(ctx context.Context, job *v1alpha1.LaunchJob, l line, alive int, s *scene) error {
	if l.refused != nil && l.refused.reason != reasonNoGang && l.refused.reason != reasonTaken {
		return l.refused
	}
	waits, err := r.queue().Leave(ctx, job, l.Line, alive, s.now)
	if waits {
		s.steps.again(time.Second)
	}
	return err
}

// delegated reports whether the job runs on another cluster, by MultiKueue.
func delegated(job *v1alpha1.LaunchJob) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy == kueue.Manager
}

// delegate keeps only the Workload of a job that runs on another cluster. MultiKueue copies the status from there as
// soon as a cluster has admitted the job. Before that, and after an eviction, the status says why it waits.
func (r *Reconciler) delegate(ctx context.Context, job *v1alpha1.LaunchJob, l line, now time.Time) (reconcile.Result, error) {
	s := scene{now: now, line: l}
	why, err := l.obstacle(), l.failed
	switch {
	case job.Status.CompletionTime != nil: // MultiKueue ends the Workload
		return r.expire(ctx, job, s)
	case err != nil:
	case runPolicy(job).Suspend:
		err = r.leave(ctx, job, l, 0, &s)
	case refuse(r.builder(ctx, job)) != nil:
		why = &obstacle{reasonRefused, refuse(r.builder(ctx, job)).Error()}
	case gang.Backend(job) != gang.Kueue:
		why = &obstacle{reasonNoQueue, "spec.managedBy is " + kueue.Manager + ", but the job names no queue: create it with gang: {backend: kueue, queue: NAME}"}
	case l.refused == nil && l.Step != kueue.Nothing:
		err = r.queue().Step(ctx, job, l.Decision)
	}
	if o := obstacleOf(err); o != nil {
		why, err = o, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if !l.Open() && !l.Watched || why != nil && l.Current == nil {
		s.steps.again(2 * retryAfter)
	}
	result := reconcile.Result{RequeueAfter: s.steps.look}
	status := job.Status.DeepCopy()
	status.ObservedGeneration = job.Generation
	switch {
	case runPolicy(job).Suspend:
		status.StartTime, status.Gang = nil, ""
		say(status, v1alpha1.PhaseSuspended, obstacle{reasonSuspended, "runPolicy.suspend is true"}, v1alpha1.Suspended, v1alpha1.Admitted, v1alpha1.WorkersReady, v1alpha1.Launched, v1alpha1.Stalled, v1alpha1.Restarting)
	case why != nil && !l.Pods:
		status.StartTime = nil
		set(status, v1alpha1.Suspended, false, obstacle{reasonResumed, ""})
		say(status, v1alpha1.PhaseWaiting, *why, "", v1alpha1.Admitted, v1alpha1.WorkersReady, v1alpha1.Launched, v1alpha1.Stalled, v1alpha1.Restarting)
	default:
		return result, nil
	}
	if equality.Semantic.DeepEqual(job.Status, *status) {
		return result, nil
	}
	job = job.DeepCopy()
	job.Status = *status
	return result, client.IgnoreNotFound(r.Client.Status().Update(ctx, job, client.FieldOwner(fieldManager)))
}

// expire deletes a job that has ended, after the time that the user has set. MultiKueue, which has created a job for another
// cluster, deletes it itself: it would run a job again that is gone before its end was copied.
func (r *Reconciler) expire(ctx context.Context, job *v1alpha1.LaunchJob, s scene) (reconcile.Result, error) {
	if ttl := runPolicy(job).TTLSecondsAfterFinished; ttl != nil && job.Labels[names.LabelKueueOrigin] == "" {
		left := time.Duration(*ttl)*time.Second - s.now.Sub(job.Status.CompletionTime.Time)
		if left <= 0 {
			err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &job.UID})
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		s.steps.again(left)
	}
	return reconcile.Result{RequeueAfter: s.steps.look}, nil
}
