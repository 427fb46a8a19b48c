package jobs

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/event"
)

// History is the short record in the status of a job, as events for package timeline. They have one worker,
// which stands for all workers of the job: it reaches each stage with the last of them.
type History struct {
	Events  []event.Event
	Workers int
	Omitted int  // attempts that the record leaves out
	Silent  int  // attempts of the pods without a report of the launcher
	Over    bool // the job has ended
}

// historian makes the events of a History.
type historian struct {
	History
	job      *v1alpha1.LaunchJob
	row      string
	pods     int32 // attempt of the pods
	attempt  int   // of the command, from 0
	open     bool  // the attempt has begun
	ended    bool  // the attempt has ended
	linked   bool  // the launcher had all workers
	reported map[int32]bool
	ends     time.Time // of the last attempt
}

// HistoryOf returns the short record of a job. It returns false if the job has none, because an older
// controller ran it.
func HistoryOf(job *v1alpha1.LaunchJob) (History, bool) {
	t := job.Status.Timeline
	if t == nil {
		return History{}, false
	}
	h := historian{job: job, reported: map[int32]bool{}, attempt: int(t.OmittedAttempts), pods: 1}
	h.Omitted, h.Over = int(t.OmittedAttempts), Over(job) && job.Status.CompletionTime != nil
	h.Workers = size(job)
	h.row = fmt.Sprintf("%s (%d workers)", job.Name, h.Workers)
	if h.Workers == 1 {
		h.row = job.Name + " (1 worker)"
	}
	created := job.CreationTimestamp.Time
	h.note(event.Event{Time: created, Kind: event.RunStarted, Count: h.Workers})
	h.note(event.Event{Time: created, Kind: event.JobCreated})
	if h.Omitted == 0 { // otherwise the record does not say what came first
		h.worker(created, event.PodCreated, "")
	}
	for _, e := range t.Events {
		switch event.Kind(e.Kind) {
		case event.AllLinked, event.CommandStarted, event.AttemptEnded:
			h.reported[e.Attempt] = true
		}
	}
	for i := range t.Events {
		h.take(&t.Events[i])
	}
	h.others()
	h.finish()
	return h.History, true
}

// note adds an event of the run.
func (h *historian) note(e event.Event) {
	e.Rank = event.NoRank
	h.Events = append(h.Events, e)
}

// worker adds an event of the one worker.
func (h *historian) worker(at time.Time, kind event.Kind, detail string) {
	h.note(event.Event{Time: at, Kind: kind, Attempt: h.attempt, Worker: h.row, Detail: detail})
}

// take takes an event of the record.
func (h *historian) take(e *v1alpha1.TimelineEvent) {
	if e.Attempt > h.pods {
		h.pods, h.linked = e.Attempt, false
		h.next(h.ends, "new pods")
	}
	switch kind := event.Kind(e.Kind); kind {
	case event.Suspended:
		if h.open {
			h.end(e.Time.Time, 0, "suspended")
			h.attempt, h.ended = h.attempt+1, false
		}
		h.linked = false
		h.note(event.Event{Time: e.Time.Time, Kind: kind, Attempt: h.attempt})
		h.worker(e.Time.Time, event.PodCreated, "")
	case event.PodCreated, event.PodScheduled, event.ImagePulling, event.ImagePulled, event.ContainerStarted:
		h.stage(e)
	case event.Waiting:
		h.worker(e.Time.Time, kind, e.Cause+": "+e.Detail)
	case event.AllLinked:
		h.linked = true
		h.worker(e.Time.Time, event.Linked, "")
		h.note(event.Event{Time: e.Time.Time, Kind: kind, Attempt: h.attempt, Count: h.Workers})
	case event.CommandStarted:
		h.begin(e.Time.Time)
	case event.FirstLine:
		h.worker(e.Time.Time, kind, "")
	case event.AttemptEnded:
		h.end(e.Time.Time, int(e.Count), e.Cause)
	case event.Restart:
		h.next(e.Time.Time, "")
	case event.RunEnded:
		if h.open || !h.ended {
			h.end(e.Time.Time, int(e.Count), e.Cause)
		}
	default: // those of the preflight, and those of a newer release
		h.note(event.Event{Time: e.Time.Time, Kind: kind, Attempt: h.attempt, Detail: e.Detail})
	}
}

// stage takes a stage that the pods have reached. What comes after the launcher had all workers is about
// replacements.
func (h *historian) stage(e *v1alpha1.TimelineEvent) {
	if h.linked {
		return
	}
	kind, last := event.Kind(e.Kind), e.Pod
	if e.Node != "" {
		last += " on " + e.Node
	}
	h.worker(e.Time.Time, kind, cmp.Or(e.Detail, last))
	switch {
	case kind != event.ContainerStarted:
	case h.job.Spec.Launcher == nil: // its pods start their commands themselves
		h.begin(e.Time.Time)
	case !h.reported[e.Attempt]:
		h.Silent++
		h.worker(e.Time.Time, event.Unseen, "")
	}
}

// begin begins the attempt.
func (h *historian) begin(at time.Time) {
	h.linked, h.open, h.ended = true, true, false
	h.worker(at, event.CommandStarted, "")
}

// end ends the attempt.
func (h *historian) end(at time.Time, code int, cause string) {
	h.open, h.ended, h.ends = false, true, at
	why := cause
	if code == 0 && (cause == "success" || cause == "Completed") {
		why = ""
	}
	h.note(event.Event{Time: at, Kind: event.AttemptEnded, Attempt: h.attempt, Count: code, Cause: cause, Detail: why})
}

// next prepares the next attempt, unless the last one was left out.
func (h *historian) next(at time.Time, why string) {
	if !h.ended {
		return
	}
	h.attempt, h.ended = h.attempt+1, false
	h.note(event.Event{Time: at, Kind: event.Restart, Attempt: h.attempt, Detail: why})
}

// others adds what other lists of the status say.
func (h *historian) others() {
	for _, r := range h.job.Status.Replaced {
		pod := r.Pod
		if r.Node != "" {
			pod += " on " + r.Node
		}
		h.note(event.Event{Time: r.Time.Time, Kind: event.Replaced, Detail: pod + ": " + r.Reason})
	}
	for _, n := range h.job.Status.ExcludedNodes {
		if !n.Time.IsZero() {
			h.note(event.Event{Time: n.Time.Time, Kind: event.Excluded, Detail: n.Node + ": " + n.Cause})
		}
	}
}

// finish adds the end of the job.
func (h *historian) finish() {
	if !h.Over {
		return
	}
	at, code, why := h.job.Status.CompletionTime.Time, Code(h.job), ""
	if code != 0 {
		why = h.job.Status.Message
	}
	if h.open {
		h.end(at, code, h.job.Status.Reason)
	}
	h.note(event.Event{Time: at, Kind: event.RunEnded, Attempt: h.attempt, Count: code, Detail: why})
}

// LauncherRuns reports whether the pod of a job's launcher runs, so that a command can run in it. When the job
// has ended, so has the launcher's container, even if a sidecar keeps its pod.
func (a *API) LauncherRuns(ctx context.Context, job *v1alpha1.LaunchJob) (bool, error) {
	if job.Spec.Launcher == nil || Over(job) {
		return false, nil
	}
	pods, err := a.pods(ctx, a.Namespace, job.Name)
	if err != nil {
		return false, a.explain(ctx, "list the pods of "+job.Name, err)
	}
	_, ok := Attach{Launcher: true}.choose(job, podsOf(job.Name, pods))
	return ok, nil
}
