package history

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/rendezvous"
)

// View is what the controller knows of a job at one moment.
type View struct {
	Now       time.Time
	Attempt   int32 // of the pods, from 1
	Pods      []Pod // of this attempt
	Wanted    int   // pods that the job needs to run
	Suspended bool
	// Reason and Message say why the job does not run; "": it runs.
	Reason, Message string
	Events          []corev1.Event // of the pods, as far as they were read
	End             *End           // of this attempt; nil: it has not ended
}

// End is the end of an attempt of the pods.
type End struct {
	At     time.Time
	Code   int32
	Reason string
	// Attempts are the attempts that the launcher reports, without the Omitted oldest ones.
	Attempts []event.Event
	Omitted  int
}

const (
	// mostWaits is the number of reasons that the record keeps of one wait: the newest ones.
	mostWaits = 4
	// mostDetail is the length of a detail in bytes.
	mostDetail = 100
)

// record is a record while it changes.
type record struct {
	v    View
	line []v1alpha1.TimelineEvent
	left int32
	from int // index of the first event of the current pods
}

// Next returns the record of a job with what a view adds to it. It does not change t, which may be nil.
func Next(t *v1alpha1.Timeline, v View) *v1alpha1.Timeline {
	r := record{v: v}
	if t != nil {
		r.line, r.left = slices.Clone(t.Events), t.OmittedAttempts
	}
	for i, e := range r.line {
		if e.Attempt < v.Attempt || e.Kind == string(event.Suspended) {
			r.from = i + 1
		}
	}
	if v.Suspended && v.End == nil {
		r.suspend()
	} else {
		r.resume()
		r.stages()
		r.pulls()
		r.waits()
	}
	r.end()
	r.fold()
	if len(r.line) == 0 {
		return nil
	}
	return &v1alpha1.Timeline{Events: r.line, OmittedAttempts: r.left}
}

// add adds an event of the current attempt.
func (r *record) add(kind event.Kind, at time.Time) *v1alpha1.TimelineEvent {
	r.line = append(r.line, v1alpha1.TimelineEvent{Time: metav1.NewTime(at.Truncate(time.Second)), Kind: string(kind), Attempt: r.v.Attempt})
	return &r.line[len(r.line)-1]
}

// find returns the event of a kind about the current pods, or nil.
func (r *record) find(kind event.Kind) *v1alpha1.TimelineEvent {
	for i := range r.line[r.from:] {
		if e := &r.line[r.from+i]; e.Kind == string(kind) {
			return e
		}
	}
	return nil
}

// suspend notes that the job has begun to be suspended.
func (r *record) suspend() {
	if r.from == 0 || r.from < len(r.line) || r.line[r.from-1].Kind != string(event.Suspended) {
		r.add(event.Suspended, r.v.Now)
	}
}

// resume notes that the job is no longer suspended.
func (r *record) resume() {
	if r.from > 0 && r.line[r.from-1].Kind == string(event.Suspended) && r.find(event.Resumed) == nil {
		r.add(event.Resumed, r.v.Now)
	}
}

// stages notes when the pods were created, had nodes, and started. Pods that replace others before the next
// stage move the time.
func (r *record) stages() {
	next := map[event.Kind]event.Kind{event.PodCreated: event.PodScheduled, event.PodScheduled: event.ContainerStarted, event.ContainerStarted: event.RunEnded}
	for _, s := range []struct {
		kind  event.Kind
		stage func(Pod) time.Time
	}{{event.PodCreated, Pod.created}, {event.PodScheduled, Pod.Scheduled}, {event.ContainerStarted, Pod.Started}} {
		e := r.find(s.kind)
		at, last, ok := reached(r.v.Pods, r.v.Wanted, s.stage)
		if !ok || e != nil && (s.kind == event.ContainerStarted || r.find(next[s.kind]) != nil) {
			continue
		}
		if e == nil {
			e = r.add(s.kind, at)
		}
		e.Time, e.Pod, e.Node, e.Count = metav1.NewTime(at.Truncate(time.Second)), last.Name, last.Spec.NodeName, int32(r.v.Wanted)
	}
	for _, p := range r.v.Pods {
		if at := p.Started(); p.Launcher && !at.IsZero() && r.find(event.LauncherStarted) == nil {
			e := r.add(event.LauncherStarted, at)
			e.Pod, e.Node = p.Name, p.Spec.NodeName
		}
	}
}

// pulls notes a slow pull of an image: the first one, and the last end of one. Nodes report both in events.
func (r *record) pulls() {
	var first, last *corev1.Event
	var pod Pod
	for i := range r.v.Events {
		e := &r.v.Events[i]
		at := slices.IndexFunc(r.v.Pods, func(p Pod) bool { return p.UID == e.InvolvedObject.UID })
		switch {
		case at < 0 || e.FirstTimestamp.IsZero():
		case e.Reason == "Pulling" && (first == nil || e.FirstTimestamp.Before(&first.FirstTimestamp)):
			first, pod = e, r.v.Pods[at]
		case e.Reason == "Pulled" && (last == nil || last.FirstTimestamp.Before(&e.FirstTimestamp)):
			last = e
		}
	}
	if first != nil && r.find(event.ImagePulling) == nil && r.find(event.ContainerStarted) == nil {
		e := r.add(event.ImagePulling, first.FirstTimestamp.Time)
		e.Pod, e.Node, e.Detail = pod.Name, pod.Spec.NodeName, brief(first.Message)
	}
	if last != nil && r.find(event.ImagePulling) != nil && r.find(event.ContainerStarted) != nil && r.find(event.ImagePulled) == nil {
		r.add(event.ImagePulled, last.FirstTimestamp.Time)
	}
}

// waits notes why the job does not run, if that is unusual and has changed.
func (r *record) waits() {
	if (rendezvous.Reason{Code: rendezvous.Code(r.v.Reason)}).Ordinary() {
		return
	}
	var at []int
	for i := r.from; i < len(r.line); i++ {
		if r.line[i].Kind == string(event.Waiting) {
			at = append(at, i)
		}
	}
	if n := len(at); n > 0 && r.line[at[n-1]].Cause == r.v.Reason {
		return
	}
	if len(at) >= mostWaits {
		r.line = slices.Delete(r.line, at[0], at[0]+1)
	}
	e := r.add(event.Waiting, r.v.Now)
	e.Cause, e.Detail = r.v.Reason, brief(r.v.Message)
}

// end notes the end of the attempt, after the attempts of its launcher.
func (r *record) end() {
	if r.v.End == nil || r.find(event.RunEnded) != nil {
		return
	}
	r.left += int32(r.v.End.Omitted)
	for _, one := range r.v.End.Attempts {
		e := r.add(one.Kind, one.Time)
		e.Restart, e.Count, e.Cause = int32(one.Attempt), int32(one.Count), brief(one.Cause)
	}
	restart := int32(0)
	if n := len(r.line); n > 0 && r.line[n-1].Attempt == r.v.Attempt {
		restart = r.line[n-1].Restart
	}
	e := r.add(event.RunEnded, r.v.End.At)
	e.Restart, e.Count, e.Cause = restart, r.v.End.Code, r.v.End.Reason
}

// brief returns text as one short line.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= mostDetail {
		return text
	}
	return strings.ToValidUTF8(text[:mostDetail-3], "") + "..."
}
