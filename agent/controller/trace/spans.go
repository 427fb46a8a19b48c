package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/tracecontext"
)

// Names of spans.
const (
	jobSpan    = "job"
	queuedSpan = "queued"
	podsSpan   = "pods"
)

// completed is the reason of an attempt that succeeded.
const completed = "Completed"

// Attributes of spans.
const (
	attrJob       = "muster.job.name"
	attrUID       = "muster.job.uid"
	attrNamespace = "k8s.namespace.name"
	attrAttempt   = "muster.attempt"
	attrAttempts  = "muster.attempts"
	attrWorkers   = "muster.workers"
	attrReason    = "muster.reason"
	attrExit      = "process.exit.code"
)

// podsOf returns the context of an attempt of the pods.
func podsOf(root tracecontext.Context, attempt int32) tracecontext.Context {
	return root.Child(fmt.Sprint(podsSpan, " ", attempt))
}

// spans makes the spans of one job.
type spans struct {
	job *v1alpha1.LaunchJob
	run tracecontext.Run
	all []tracecontext.Span

	wait  tracecontext.Span // in a queue; its end is zero while it lasts
	waits bool              // wait has not been added
	pods  time.Time         // when the pods of this attempt were created; zero: unknown
	last  time.Time         // end of the last attempt
}

// ended returns the spans of a job that have ended, in the order of their ends. events is its record. folded
// means that the record leaves out old attempts.
func ended(job *v1alpha1.LaunchJob, status *v1alpha1.LaunchJobStatus, events []v1alpha1.TimelineEvent, folded bool, run tracecontext.Run) []tracecontext.Span {
	s := spans{job: job, run: run}
	if !folded {
		s.queue(job.CreationTimestamp.Time)
	}
	for i := range events {
		s.take(&events[i])
	}
	if end := status.CompletionTime; end != nil {
		if s.waits && s.wait.To.IsZero() {
			s.wait.Failed = status.Reason
		}
		s.endWait(end.Time)
		root := s.span(jobSpan, run.Root, job.CreationTimestamp.Time, end.Time)
		if run.Parent.Valid() {
			root.Parent = run.Parent.String()
		} else {
			root.Parent = ""
		}
		root.Numbers = map[string]int64{attrAttempts: int64(status.Attempt), attrWorkers: int64(status.Workers)}
		root.Texts[attrReason] = status.Reason
		if status.Phase == v1alpha1.PhaseFailed {
			root.Failed = status.Message
		}
		s.all = append(s.all, root)
	}
	return s.all
}

// span returns a span below the job's.
func (s *spans) span(name string, self tracecontext.Context, from, to time.Time) tracecontext.Span {
	return tracecontext.Span{Name: name, Parent: s.run.Root.String(), State: self.State, Self: self.String(), From: from, To: to,
		Texts: map[string]string{attrJob: s.job.Name, attrNamespace: s.job.Namespace, attrUID: string(s.job.UID)}}
}

// queue begins to wait for nodes.
func (s *spans) queue(at time.Time) {
	s.wait, s.waits = s.span(queuedSpan, s.run.Root.Child(fmt.Sprint(queuedSpan, " ", at.Unix())), at, time.Time{}), true
}

// endWait adds the wait, which has ended at a time if its end is not known.
func (s *spans) endWait(at time.Time) {
	if !s.waits {
		return
	}
	if s.wait.To.IsZero() {
		s.wait.To = at
	}
	s.all, s.waits = append(s.all, s.wait), false
}

// take takes the next event of the record.
func (s *spans) take(e *v1alpha1.TimelineEvent) {
	at := e.Time.Time
	switch event.Kind(e.Kind) {
	case event.Suspended:
		if !s.pods.IsZero() { // it ran, or began to
			s.endWait(at)
			s.pods = time.Time{}
			s.queue(at)
		}
	case event.PodCreated:
		s.pods = at
		switch {
		case s.waits:
		case s.last.IsZero(): // the end of the attempt before was left out
			s.queue(at)
		default:
			s.queue(s.last)
		}
	case event.Waiting:
		s.wait.Marks = append(s.wait.Marks, tracecontext.Mark{At: at, Name: e.Cause, Detail: e.Detail})
	case event.PodScheduled: // a later pod may move it until the containers have started
		s.wait.To = at
	case event.ContainerStarted:
		s.endWait(at)
	case event.RunEnded:
		s.endWait(at)
		from := s.pods
		if from.IsZero() {
			from = at
		}
		pods := s.span(podsSpan, podsOf(s.run.Root, e.Attempt), from, at)
		pods.Numbers = map[string]int64{attrAttempt: int64(e.Attempt), attrExit: int64(e.Count)}
		pods.Texts[attrReason] = e.Cause
		switch {
		case e.Count != 0:
			pods.Failed = fmt.Sprintf("%s: exit code %d", e.Cause, e.Count)
		case e.Cause != completed: // the controller has ended it
			pods.Failed = e.Cause
		}
		s.all = append(s.all, pods)
		s.pods, s.last = time.Time{}, at
	}
}

// merged returns the events of an old record and the additional events of a new one. The new record may leave out
// old attempts.
func merged(old, now *v1alpha1.Timeline) (all []v1alpha1.TimelineEvent) {
	if old != nil {
		all = slices.Clone(old.Events)
	}
	if now == nil {
		return all
	}
	for _, e := range now.Events {
		i := slices.IndexFunc(all, func(have v1alpha1.TimelineEvent) bool {
			return have.Kind == e.Kind && have.Attempt == e.Attempt && have.Restart == e.Restart && (have.Time.Equal(&e.Time) || e.Kind == string(event.PodScheduled))
		})
		if i >= 0 && e.Kind == string(event.PodScheduled) && all[i].Time.Before(&e.Time) {
			all[i] = e
		} else if i < 0 {
			all = append(all, e)
		}
	}
	return all
}
