package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/gang"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/agent/controller/queue"
	"github.com/musterhq/muster/agent/controller/reports"
	"github.com/musterhq/muster/exec/names"
)

// line is a job's place in the queues of Kueue. Its zero value is that of a job which Kueue does not hold.
type line struct {
	queue.Line
	refused *obstacle // in place of a decision: the cluster cannot do what the job wants
	failed  error     // in place of a decision: Kueue's objects cannot be read for now
}

// queue returns the client of Kueue's objects.
func (r *Reconciler) queue() queue.Client {
	return queue.Client{Writer: r.children(), Late: r.Late}
}

// line asks Kueue about a job.
func (r *Reconciler) line(ctx context.Context, job *v1alpha1.LaunchJob, pods []*corev1.Pod, now time.Time) (l line) {
	if gang.Backend(job) != gang.Kueue {
		return l
	}
	want := func(version string) kueue.Request { return r.request(ctx, job, version) }
	l.Line, l.failed = r.queue().Ask(ctx, job, want, alive(pods, now), now)
	if l.refused = obstacleOf(l.failed); l.refused != nil {
		l.Decision, l.failed = kueue.Decision{Keep: true}, nil
	}
	return l
}

// alive counts the pods of a job, without those of nodes that do not answer: Kueue need not wait for these.
func alive(pods []*corev1.Pod, now time.Time) (n int) {
	for _, p := range pods {
		if p.DeletionTimestamp == nil || !held(p, now) {
			n++
		}
	}
	return n
}

// request returns what a job asks of Kueue, without its priority.
func (r *Reconciler) request(ctx context.Context, job *v1alpha1.LaunchJob, version string) kueue.Request {
	b := r.builder(ctx, job)
	b.offer, b.avoid = nil, nil // Kueue decides about nodes by what the user wrote
	want := kueue.Request{
		Meta: children.Meta(job, job.Name), Version: version, Generation: job.Generation, Queue: gang.Queue(job),
		Labels: job.Labels, Annotations: job.Annotations, Elastic: job.Spec.Elastic != nil && kueue.Elastic(job.Annotations),
	}
	for _, s := range b.slots {
		n := len(want.PodSets)
		if n > 0 && want.PodSets[n-1].Name == s.role {
			want.PodSets[n-1].Count++
			continue
		}
		set := kueue.PodSet{Name: s.role, Count: 1, First: s.rank, Template: b.template(s)}
		if e := job.Spec.Elastic; e != nil && !s.launcher() {
			set.Min = int(e.Min)
		}
		want.PodSets = append(want.PodSets, set)
	}
	return want
}

// template returns the template of a role's pods as Kueue counts them: with the containers that the pods really have,
// and without what differs among them.
func (b builder) template(s slot) *corev1.PodTemplateSpec {
	t := s.template.DeepCopy()
	if s.own(&t.Spec) == nil { // it is refused
		return t
	}
	pod := b.pod(s, s.name)
	pod.Spec.Hostname, pod.Spec.Subdomain = t.Spec.Hostname, t.Spec.Subdomain
	t.Spec = pod.Spec
	delete(t.Labels, names.LabelKueueQueue)
	return t
}

// ofKueue has the reasons in the status for those of package kueue.
var ofKueue = map[kueue.Reason]string{
	kueue.Waits: reasonGang, kueue.NoQueue: reasonNoQueue, kueue.Preempted: reasonPreempted, kueue.Evicted: reasonEvicted,
	kueue.Missing: reasonNoWorkload, kueue.Fewer: reasonFewer, kueue.Rejected: reasonRejected,
}

// obstacle returns why the job has no pods, or fewer than it wants; nil: it has what it wants.
func (l line) obstacle() *obstacle {
	if l.refused != nil {
		return l.refused
	}
	if reason := ofKueue[l.Reason]; reason != "" {
		return &obstacle{reason, reports.Clip(l.Message, 1000)}
	}
	return nil
}

// evicts returns the end of an attempt whose pods must go. It counts once: the next attempt is not admitted yet.
func (l line) evicts(job *v1alpha1.LaunchJob, places []place) (v verdict) {
	had := meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Admitted) ||
		slices.ContainsFunc(places, func(p place) bool { return p.pod != nil && p.stage != forgotten })
	o := l.obstacle()
	if !l.On || l.Keep || !had || o == nil {
		return v
	}
	return verdict{over: true, evicted: true, reason: o.reason, message: o.message}
}
