package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/children"
	"github.com/musterhq/muster/agent/controller/kueue"
	"github.com/musterhq/muster/exec/names"
)

// Client reads and writes the objects of Kueue.
type Client struct {
	children.Writer
	Late *Late // the watch of Workloads; nil: none
}

// Line is a job's place in the queues of Kueue. Its zero value is that of a job which Kueue does not hold.
type Line struct {
	kueue.Decision
	On      bool
	Watched bool // a change of the Workload is seen at once
	Want    kueue.Request
	All     []*kueue.Workload // of the job
	Places  map[string]kueue.Place

	prebuilt string // the Workload that somebody else has made for the job; "": none
}

// Obstacle is the error of a job that cannot be queued as it is, or get pods. Message says what to change.
type Obstacle struct {
	Reason  kueue.Reason
	Message string
}

func (o *Obstacle) Error() string { return o.Message }

// Open reports whether pods may be created.
func (l Line) Open() bool { return !l.On || l.Pods }

// Placed reports whether Kueue chooses the nodes of the job's pods.
func (l Line) Placed() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(l.Places)), kueue.Place.Placed)
}

// Limited returns the job with the workers that Kueue has admitted. Only elastic jobs run with fewer.
func (l Line) Limited(job *v1alpha1.LaunchJob) *v1alpha1.LaunchJob {
	most, found := l.Limit[names.RoleWorker]
	if !found || job.Spec.Elastic == nil || job.Spec.Workers == nil || int(*job.Spec.Workers) <= most {
		return job
	}
	job = job.DeepCopy()
	job.Spec.Workers = ptr.To(int32(most))
	return job
}

// Ask asks Kueue about a job of which so many pods exist. It calls want with the version of the API, unless the job has
// ended or is suspended. If it returns an error, the line has what was read before.
func (c Client) Ask(ctx context.Context, job *v1alpha1.LaunchJob, want func(version string) kueue.Request, alive int, now time.Time) (Line, error) {
	l := Line{On: true, Decision: kueue.Decision{Keep: true}} // pods stay until Kueue has been asked
	kind, err := c.workloadKind()
	if err != nil {
		return l, err
	}
	l.Watched = c.Late.Watch(kind)
	if l.prebuilt, err = c.prebuilt(ctx, job, kind); err != nil {
		return l, err
	}
	if l.All, err = c.workloads(ctx, job, kind, l.prebuilt); err != nil {
		return l, err
	}
	if job.Status.CompletionTime != nil || ptr.Deref(job.Spec.RunPolicy, v1alpha1.RunPolicy{}).Suspend {
		return l, nil
	}
	l.Want = want(kind.Version)
	l.Want.Prebuilt = l.prebuilt
	return l, c.decide(ctx, job, &l, alive, now)
}

// decide reads what else the decision needs, and makes it.
func (c Client) decide(ctx context.Context, job *v1alpha1.LaunchJob, l *Line, alive int, now time.Time) (err error) {
	if l.Want.Elastic || !slices.ContainsFunc(l.All, (*kueue.Workload).Admitted) { // an admitted Workload keeps its priority
		if l.Want.Priority, err = c.priority(ctx, job, l.Want.PodSets); err != nil {
			return err
		}
	}
	if l.Decision, err = kueue.Decide(kueue.View{Now: now, All: l.All, Want: l.Want, Alive: alive}); err != nil {
		return &Obstacle{kueue.Rejected, err.Error()} // of an annotation in a template
	}
	if l.Current != nil {
		l.Places = l.Current.Places(l.Want.PodSets)
	}
	return nil
}
