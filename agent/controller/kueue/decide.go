package kueue

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Step is a write to the API server.
type Step int

// Steps.
const (
	Nothing Step = iota
	Create
	Update
	UpdateStatus
	Delete
)

// Reason says why a job has no pods, or fewer than it wants.
type Reason int

// Reasons.
const (
	Waits     Reason = iota + 1 // in the queue, or for an admission check
	NoQueue                     // the queue does not exist, or is stopped
	Preempted                   // for another job
	Evicted                     // for another reason
	Missing                     // the Workload that a label names is not there
	Fewer                       // the job runs with fewer workers
	Rejected                    // the job names what is not there, or contradicts its admission
)

// View is a job in the eyes of Kueue.
type View struct {
	Now   time.Time
	All   []*Workload // of the job
	Want  Request
	Alive int // pods of the job that exist, those of earlier attempts too
}

// Decision is what follows.
type Decision struct {
	Step    Step
	Object  *unstructured.Unstructured // for the step
	Pods    bool                       // pods may be created
	Keep    bool                       // pods that exist may stay
	Limit   map[string]int             // the most pods of each pod set; nil: as many as the job wants
	Current *Workload                  // the one whose admission counts; nil: there is none
	Reason  Reason                     // 0: the job has what it wants
	Message string
}

// Decide returns what follows from the Workloads of a job. There is at most one step: its effect is seen the next time.
func Decide(v View) (Decision, error) {
	for _, w := range v.All { // a label that was removed names the queue until the job is suspended
		v.Want.Queue = cmp.Or(v.Want.Queue, w.Spec.QueueName)
	}
	live := unfinished(v.All)
	switch len(live) {
	case 0:
		return v.begin()
	case 1:
		return v.one(live[0])
	}
	return v.two(live[0], live[len(live)-1])
}

// Leave returns the step for the Workload of a suspended job that has no pods left. One that an administrator has
// deactivated stays, so that a new one does not take its place in the queue.
func Leave(w *Workload, now time.Time) Decision {
	switch {
	case w.Spec.Active == nil || *w.Spec.Active:
		return Decision{Step: Delete, Object: w.object}
	case w.is(quotaReserved) && w.is(evicted):
		return Decision{Step: UpdateStatus, Object: w.requeue(now)}
	}
	return Decision{}
}

// begin makes the first Workload, as soon as no pod uses the quota of an earlier one.
func (v View) begin() (d Decision, err error) {
	d = Decision{Reason: Waits, Message: "Workload " + v.Want.Meta.Name + " is being created"}
	if len(v.All) > 0 {
		w := v.All[len(v.All)-1]
		d.Reason, d.Message = Evicted, fmt.Sprintf("Workload %s is over, and the job is not: %s", w.Name, w.condition(finished).Message)
	}
	if v.Want.Prebuilt != "" {
		d.Reason = Missing
		if len(v.All) == 0 {
			d.Message = fmt.Sprintf("there is no Workload %s, which the label %s names: create it, or remove the label from a new job", v.Want.Prebuilt, jobPrebuilt)
		}
		return d, nil
	}
	if v.Alive > 0 {
		if len(v.All) == 0 {
			d.Reason, d.Message = Evicted, "the job has no Workload any more: its pods are deleted, and it is queued again"
		}
		return d, nil
	}
	for _, w := range v.All {
		if w.Name == v.Want.Meta.Name {
			d.Step, d.Object = Delete, w.object
			return d, nil
		}
	}
	d.Step = Create
	d.Object, err = v.Want.workload()
	return d, err
}

// one decides for a job with one Workload.
func (v View) one(w *Workload) (Decision, error) {
	if v.foreign(w) {
		return v.refuse(w), nil
	}
	d := Decision{Current: w}
	d.Reason, d.Message = w.waits()
	switch {
	case w.DeletionTimestamp != nil:
		d.Reason, d.Message = Evicted, "Workload "+w.Name+" is being deleted"
		return d, nil
	case w.is(evicted) && w.is(quotaReserved):
		if v.Alive == 0 {
			d.Step, d.Object = UpdateStatus, w.requeue(v.Now)
		}
		return d, nil
	case w.is(evicted):
		return v.queued(d)
	case w.is(quotaReserved) && w.is(admitted):
		d.Reason, d.Message = 0, ""
		return v.runs(d)
	}
	if d.Keep = w.Annotations[replaces] != ""; d.Keep { // Kueue ends the slice before this one a moment earlier
		d.Limit = v.before(w)
	}
	if w.is(quotaReserved) {
		return d, nil
	}
	return v.queued(d)
}

// queued brings the Workload of a job in the queue up to date.
func (v View) queued(d Decision) (_ Decision, err error) {
	if v.Want.Prebuilt == "" && !d.Current.same(v.Want) {
		d.Step = Update
		d.Object, err = d.Current.rewrite(v.Want)
	}
	return d, err
}

// runs decides for a job that Kueue has admitted.
func (v View) runs(d Decision) (_ Decision, err error) {
	w := d.Current
	d.Pods, d.Keep, d.Limit = true, true, w.granted()
	want, asked, back := v.Want.counts(), w.counts(), w.reclaimed()
	for _, p := range v.Want.PodSets {
		if !v.Want.Elastic && p.Min > 0 {
			d.Limit[p.Name] = min(d.Limit[p.Name], asked[p.Name]-back[p.Name])
		}
	}
	set, wants := exceeds(want, d.Limit)
	switch {
	case v.Want.Elastic && v.Want.Prebuilt == "":
		return v.scale(d)
	case set == "":
	case want[set] <= asked[set] && back[set] == 0:
		d.Reason, d.Message = Fewer, fmt.Sprintf("Kueue has admitted %d of %d pods of the role %s (partial admission): to get more, suspend the job and resume it when there is quota", d.Limit[set], wants, set)
	default:
		d.Reason, d.Message = Fewer, fmt.Sprintf("Kueue has admitted %d pods of the role %s, and the job wants %d: suspend the job and resume it, or create it with the annotation %s: \"true\"", d.Limit[set], set, wants, jobElastic)
	}
	return d, nil
}

// foreign reports whether a prebuilt Workload is not that of this job.
func (v View) foreign(w *Workload) bool {
	if v.Want.Prebuilt == "" || w.is(admitted) || Elastic(v.Want.Annotations) {
		return false
	}
	asked := w.counts()
	for _, p := range v.Want.PodSets {
		if asked[p.Name] != p.Count {
			return true
		}
	}
	return len(asked) != len(v.Want.PodSets)
}

// refuse ends a prebuilt Workload that asks for other pods than the job, as Kueue does it for jobs that it knows.
func (v View) refuse(w *Workload) Decision {
	return Decision{Step: UpdateStatus, Object: w.finish("OutOfSync", "The prebuilt workload is out of sync with its user job", v.Now), Reason: Missing,
		Message: fmt.Sprintf("Workload %s, which the label %s names, asks for other pods than the job: create a Workload with the roles of the job and their numbers", w.Name, jobPrebuilt)}
}

// exceeds returns a pod set of which there are more than the limit, and how many.
func exceeds(counts, limit map[string]int) (set string, n int) {
	for name, count := range counts {
		if count > limit[name] {
			return name, count
		}
	}
	return "", 0
}

// rewrite returns the Workload with the spec of a request. What belongs to others stays.
func (w *Workload) rewrite(r Request) (*unstructured.Unstructured, error) {
	spec, err := r.spec()
	if err != nil {
		return nil, err
	}
	u := w.object.DeepCopy()
	mark(u, spec)
	for _, theirs := range []string{"active", "preemptionGates"} {
		if value, found, _ := unstructured.NestedFieldCopy(u.Object, "spec", theirs); found {
			spec[theirs] = value
		}
	}
	u.Object["spec"] = spec
	return u, nil
}
