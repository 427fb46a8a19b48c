package timeline

import "github.com/musterhq/muster/agent/event"

// run is what is known of a whole run at one moment.
type run struct {
	known    bool // how far the run is, so that a worker with a link is known to wait
	checking bool
	runs     bool // an attempt runs
	ended    bool // an attempt has ended, and the next one has not started
	attempt  int  // the one that runs or that ran last
	last     int  // the last attempt that was started or prepared, over all events
	takes    map[part]bool
}

// part is a worker that takes part in an attempt.
type part struct {
	attempt int
	worker  string
}

// runOf returns the state before all events.
func runOf(events []event.Event) *run {
	r := &run{takes: map[part]bool{}}
	for _, e := range events {
		switch e.Kind {
		case event.CommandStarted:
			r.takes[part{e.Attempt, e.Worker}] = true
			r.last = max(r.last, e.Attempt)
		case event.Restart:
			r.last = max(r.last, e.Attempt)
		}
	}
	return r
}

// apply takes an event, and reports whether it may change the phase of every worker.
func (r *run) apply(e event.Event) (all bool) {
	switch e.Kind {
	case event.RunStarted, event.AllLinked:
		all, r.known = !r.known, true
	case event.CheckStarted:
		all, r.known, r.checking = true, true, true
	case event.Checked:
		all, r.checking = true, false
	case event.CommandStarted:
		all = !r.runs || r.checking || r.attempt != e.Attempt
		r.known, r.runs, r.ended, r.checking, r.attempt = true, true, false, false, e.Attempt
	case event.AttemptEnded:
		all, r.known, r.runs, r.ended, r.attempt = true, true, false, true, e.Attempt
	case event.Restart:
		all, r.known, r.runs, r.ended = true, true, false, true
	}
	return all
}

// worker is what is known of a worker at one moment.
type worker struct {
	created, scheduled, pulling, started, linked bool

	lost    bool
	runs    bool
	attempt int // that runs on it
}

// apply takes an event of the worker.
func (w *worker) apply(e event.Event) {
	switch e.Kind {
	case event.PodCreated:
		*w = worker{created: true} // a new pod may have the name of a lost one
	case event.PodScheduled:
		*w = worker{created: true, scheduled: true, pulling: w.pulling}
	case event.ImagePulling:
		w.pulling = !w.started && !w.linked
		w.lost = false
	case event.ImagePulled:
		w.pulling = false
	case event.ContainerStarted:
		*w = worker{created: true, scheduled: true, started: true}
	case event.Linked, event.LinkBack:
		w.linked, w.lost = true, false
	case event.CommandStarted:
		w.linked, w.lost, w.runs, w.attempt = true, false, true, e.Attempt
	case event.WorkerLost:
		*w = worker{lost: true}
	case event.Unseen:
		*w = worker{}
	}
}

// phase returns the phase of a worker, and the attempt that it belongs to.
func (r *run) phase(name string, w *worker) (Phase, int) {
	switch {
	case w.lost:
		return Lost, r.attempt
	case w.runs && r.runs && w.attempt == r.attempt:
		return Running, r.attempt
	case !w.linked:
		return w.beforeLink(), r.attempt
	case !r.known:
		return Unknown, r.attempt
	case r.checking:
		return Checking, r.attempt
	case r.runs && !r.takes[part{r.attempt, name}]:
		return Spare, r.attempt
	case r.runs: // its own event is about to come
		return Waiting, r.attempt
	case r.ended && r.attempt < r.last:
		return Restarting, r.attempt
	case r.ended:
		return Ending, r.attempt
	}
	return Waiting, r.attempt
}

// beforeLink returns the phase of a worker without a link.
func (w *worker) beforeLink() Phase {
	switch {
	case w.started:
		return Linking
	case w.pulling:
		return Pulling
	case w.scheduled:
		return Starting
	case w.created:
		return Queued
	}
	return Unknown
}
