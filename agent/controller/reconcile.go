package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/census"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/exclude"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kubelets"
	"github.com/musterhq/muster/agent/controller/progress"
	"github.com/musterhq/muster/agent/controller/queue"
	"github.com/musterhq/muster/agent/controller/reports"
	"github.com/musterhq/muster/agent/controller/trace"
	"github.com/musterhq/muster/exec/names"
)

// Name is the name of the controller in spec.managedBy.
const Name = names.Controller

// Reconciler handles one LaunchJob at a time. It holds no state that a new Reconciler would miss.
type Reconciler struct {
	Client     client.Client // reads from the cache
	Reader     client.Reader // reads from the API server
	Events     events.EventRecorder
	Clock      clock.PassiveClock
	AgentImage string // for jobs that inject it and name none
	MaxWorkers uint   // limit for each job; 0: as many as the CRD allows
	Version    string
	Metrics    *census.Changes
	Offer      *progress.Offer // what pods need to report progress; nil: they cannot
	Trace      *trace.Tracer   // nil: no traces
	Late       *queue.Late     // the watch of Kueue's Workloads; nil: none
	Kubelets   *kubelets.Nodes // nil: nodes that cannot mount images
	failures   failures
}

// retryAfter is how soon an operation that the API server rejected is retried.
const retryAfter = 5 * time.Second

// Reconcile moves one job forward: observe, decide, act, and write the status once.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) || errors.Is(err, queue.ErrStale) { // the cache is behind
		result, err = reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if n := r.failures.count(req.NamespacedName, err); n > 0 && n%standsAfter == 0 {
		err = errors.Join(err, r.stands(ctx, req.NamespacedName, err))
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	job := &v1alpha1.LaunchJob{}
	if err := r.Client.Get(ctx, req.NamespacedName, job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if job.DeletionTimestamp != nil || job.Spec.ManagedBy != nil && *job.Spec.ManagedBy != Name && !delegated(job) {
		return reconcile.Result{}, nil // the garbage collector deletes the children
	}
	pods, err := r.pods(ctx, job)
	if err != nil {
		return reconcile.Result{}, err
	}
	s := scene{now: r.Clock.Now(), version: r.Version}
	if s.gang, err = r.chooseGang(job, layout(job)); err != nil {
		return reconcile.Result{}, err
	}
	known := job // with what the status does not say yet
	if s.gang.backend != "" {
		known = job.DeepCopy()
		known.Status.Gang = s.gang.backend
	}
	if refuse(r.builder(ctx, known)) == nil || job.Status.CompletionTime != nil || correctable(job) {
		s.line = r.line(ctx, known, pods, s.now)
	}
	if delegated(job) {
		return r.delegate(ctx, job, s.line, s.now)
	}
	s.alive = alive(pods, s.now)
	b := r.builder(ctx, s.line.Limited(known))
	if b.places = s.line.Places; s.line.Placed() {
		b.avoid = nil
	}
	var surplus []*corev1.Pod
	s.places, surplus = observe(b.slots, pods, b.attempt, s.now)
	if job.Status.CompletionTime != nil {
		return r.tidy(ctx, b, s, surplus)
	}
	if err := r.advance(ctx, b, &s, surplus); err != nil {
		return reconcile.Result{}, err
	}
	return r.report(ctx, job, s)
}

func (r *Reconciler) builder(ctx context.Context, job *v1alpha1.LaunchJob) builder {
	image := cmp.Or(ptr.Deref(job.Spec.Agent, v1alpha1.Agent{}).Image, r.AgentImage)
	b := builder{job: job, slots: layout(job), image: image, attempt: max(job.Status.Attempt, 1), avoid: job.Status.ExcludedNodes, offer: r.Offer, trace: r.Trace}
	b.volumes = r.Kubelets != nil && delivery(job) == auto && job.Status.CompletionTime == nil && r.Kubelets.MountImages(ctx)
	return b
}

// pods lists the pods that the job owns.
func (r *Reconciler) pods(ctx context.Context, job *v1alpha1.LaunchJob) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingLabels{names.LabelJob: job.Name}); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var own []*corev1.Pod
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], job) {
			own = append(own, &list.Items[i])
		}
	}
	return own, nil
}

// advance decides and acts. A rejection by the API server becomes the scene's obstacle; other
// errors are returned.
func (r *Reconciler) advance(ctx context.Context, b builder, s *scene, surplus []*corev1.Pod) error {
	refused := refuse(b)
	switch {
	case refused != nil && correctable(b.job):
		s.blocked = &obstacle{reasonRefused, refused.Error()}
	case refused != nil:
		s.verdict = verdict{over: true, reason: reasonRefused, message: refused.Error()}
		return nil
	}
	if s.verdict = judgeJob(b.job, s.places, s.now); s.verdict.over {
		return nil // also if Kueue cannot be asked
	}
	if s.line.failed != nil {
		return s.line.failed
	}
	if s.verdict = s.line.evicts(b.job, s.places); s.verdict.over && !runPolicy(b.job).Suspend {
		return nil // the pods are those of an earlier attempt from now on
	}
	s.verdict = verdict{}
	if refused == nil {
		surplus = append(surplus, b.expel(s.places)...)
	}
	s.steps = plan(b.job, s.places, surplus, s.now)
	if !s.line.Open() || refused != nil {
		s.steps.create = nil
	}
	s.steps.nodes = exclude.Job{LaunchJob: b.job, Pods: len(b.slots), Placed: s.line.Placed()}.Nodes(s.steps.record, s.now)
	b.avoid = slices.Concat(b.avoid, exclude.Added(s.steps.nodes)) // the status has them later
	if d := deadline(b.job); d > 0 && b.job.Status.StartTime != nil {
		s.steps.again(d - s.now.Sub(b.job.Status.StartTime.Time))
	}
	if err := r.remove(ctx, &s.steps); err != nil {
		return err
	}
	if runPolicy(b.job).Suspend {
		return errors.Join(r.revoke(ctx, b), r.leave(ctx, b.job, s.line, s.alive, s))
	}
	if err := r.readEvents(ctx, b.job, s); err != nil {
		return err
	}
	err := r.stand(ctx, b, s)
	waits := s.blocked != nil
	if err == nil && s.line.Open() && refused == nil {
		err = r.make(ctx, b, s)
	}
	if o := obstacleOf(err); o != nil {
		s.blocked, err = o, nil
	}
	switch {
	case s.line.On && !s.line.Watched:
		s.steps.again(2 * retryAfter)
	case s.blocked != nil && !waits: // a change of the Workload is seen
		s.steps.again(retryAfter)
	}
	return err
}

// make creates what is missing: first what pods need, then the pods.
func (r *Reconciler) make(ctx context.Context, b builder, s *scene) error {
	if n := uint(len(b.workerNames())); r.MaxWorkers > 0 && n > r.MaxWorkers {
		return &obstacle{reasonTooLarge, fmt.Sprintf("the job has %d workers, but the controller's --max-workers is %d: reduce the number of workers, or ask the cluster's administrator to raise the limit", n, r.MaxWorkers)}
	}
	made := 0
	for _, child := range children.First(b.job, b.workerNames()) {
		have, err := r.children().Keep(ctx, r.Client, b.job, child)
		if err != nil {
			return err
		}
		if have == child { // it is new: with compat, each pod has a Service
			made++
		}
		if made == batch {
			s.steps.again(0)
			return nil
		}
	}
	var err error
	if s.blocked, err = r.gangObject(ctx, b, *s); err != nil {
		return err
	}
	if _, ok := gangKind(b.job); ok && unscheduled(s.places) {
		s.steps.again(2 * retryAfter) // the gang's object is not watched
	}
	if ready, err := r.shareToken(ctx, b, s); err != nil || !ready {
		return err
	}
	return r.makePods(ctx, b, s)
}

// batch is how many workers one reconcile creates, how many Services before them, and how many pods it deletes. Other
// jobs get a turn before the next batch.
const batch = 250

// makePods creates a batch of pods. The Role comes after the workers, when their owner is known,
// and before the launcher, which needs it.
func (r *Reconciler) makePods(ctx context.Context, b builder, s *scene) error {
	own := ownWorkers(s.places)
	var failed error
	var launcher *birth
	made := 0
	for i, c := range s.steps.create {
		if c.slot.launcher() {
			launcher = &s.steps.create[i]
			continue
		}
		if made++; made > batch {
			s.steps.again(0)
			continue
		}
		if failed = r.children().Create(ctx, b.job, b.pod(c.slot, c.name)); failed != nil {
			break
		}
		own = append(own, c.name)
	}
	if b.job.Spec.Launcher == nil {
		return failed
	}
	if err := r.grant(ctx, r.Client, b, own, launcher == nil); err != nil || launcher == nil {
		return cmp.Or(failed, err)
	}
	err := r.children().Create(ctx, b.job, b.pod(launcher.slot, launcher.name))
	if err == nil && b.job.Spec.Discovery == children.ByNames {
		err = r.grant(ctx, r.Reader, b, own, true) // the Role is not in the cache yet
	}
	return cmp.Or(failed, err)
}

// remove deletes a batch of pods.
func (r *Reconciler) remove(ctx context.Context, s *steps) error {
	for i, p := range s.remove {
		if i == batch {
			s.again(0)
			return nil
		}
		err := r.Client.Delete(ctx, p, client.Preconditions{UID: &p.UID})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete pod %s: %w", p.Name, err)
		}
	}
	return nil
}

// tidy deletes what should not remain of a job that has ended, and reports which pods are left.
func (r *Reconciler) tidy(ctx context.Context, b builder, s scene, surplus []*corev1.Pod) (reconcile.Result, error) {
	job := b.job
	if err := r.revoke(ctx, b); err != nil {
		return reconcile.Result{}, fmt.Errorf("empty the launcher's Role: %w", err)
	}
	s.steps = clean(job, s.places, surplus, s.now)
	if err := r.remove(ctx, &s.steps); err != nil {
		return reconcile.Result{}, err
	}
	if status := emptied(job, s); !equality.Semantic.DeepEqual(job.Status, status) {
		job = job.DeepCopy()
		job.Status = status
		if err := r.Client.Status().Update(ctx, job, client.FieldOwner(fieldManager)); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	if s.busy(surplus) { // Kueue would give the quota to another job
		s.steps.again(retryAfter)
		return r.expire(ctx, job, s)
	}
	if err := cmp.Or(s.line.failed, r.queue().Conclude(ctx, job, s.line.Line, s.now)); err != nil {
		return reconcile.Result{}, err
	}
	return r.expire(ctx, job, s)
}

// busy reports whether a pod of the job may still use what it has requested.
func (s scene) busy(surplus []*corev1.Pod) bool {
	pods := slices.Clone(surplus)
	for _, p := range s.places {
		if p.pod != nil {
			pods = append(pods, p.pod)
		}
	}
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
		over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		return !over && (p.DeletionTimestamp == nil || !held(p, s.now))
	})
}

// report writes the status once if it has changed, and emits events for transitions.
func (r *Reconciler) report(ctx context.Context, job *v1alpha1.LaunchJob, s scene) (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: s.steps.look}
	old := job.Status
	status := newStatus(job, s)
	if equality.Semantic.DeepEqual(old, status) {
		return result, nil
	}
	job = job.DeepCopy()
	job.Status = status
	if err := r.Client.Status().Update(ctx, job, client.FieldOwner(fieldManager)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.Metrics.Count(job.Namespace, old, status, podsOf(s.places))
	r.Trace.Tell(job, &old, &status)
	r.tell(job, old, status, s)
	return result, nil
}

// tell emits an event for each transition.
func (r *Reconciler) tell(job *v1alpha1.LaunchJob, old, status v1alpha1.LaunchJobStatus, s scene) {
	if c := s.gang; c.why != "" {
		kind := corev1.EventTypeNormal
		if c.backend == gang.None {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(job, nil, kind, reasonChosen, "Schedule", "gang.backend auto: %s, because %s", c.backend, c.why)
	}
	for _, p := range s.steps.record {
		r.Events.Eventf(job, nil, corev1.EventTypeWarning, reasonReplaced, "Replace", "replacing pod %s: %s", p.Pod, p.Reason)
	}
	for _, n := range s.steps.nodes {
		reason := reasonExcluded
		if n.Refused != "" {
			reason = reasonNotExcluded
		}
		// The recorder combines events of one reason that have the same related object.
		r.Events.Eventf(job, &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.Node}, corev1.EventTypeWarning, reason, "Exclude", "%s", n)
	}
	if old.Phase == status.Phase && old.Attempt == status.Attempt {
		if status.Reason == reasonRefused && old.Reason != status.Reason {
			r.Events.Eventf(job, nil, corev1.EventTypeWarning, status.Reason, "Reconcile", "%s", reports.Clip(status.Message, 900))
		}
		for _, kind := range []string{v1alpha1.Stalled, v1alpha1.Restarting} {
			c, was := meta.FindStatusCondition(status.Conditions, kind), meta.FindStatusCondition(old.Conditions, kind)
			if status.Phase == v1alpha1.PhaseRunning && c != nil && c.Status == metav1.ConditionTrue && (was == nil || was.Status != c.Status || was.Message != c.Message) {
				r.Events.Eventf(job, nil, corev1.EventTypeWarning, c.Reason, "Reconcile", "%s", reports.Clip(c.Message, 900))
			}
		}
		return
	}
	kind := corev1.EventTypeNormal
	if status.Phase == v1alpha1.PhaseFailed || status.Phase == v1alpha1.PhaseRestarting || s.verdict.evicted {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(job, nil, kind, status.Phase, "Reconcile", "%s", reports.Clip(cmp.Or(status.Message, status.Ready+" ready"), 900))
}
