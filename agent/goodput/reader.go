package goodput

import (
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/timeline"
)

// Reader keeps the events that an account needs. It keeps neither details nor what repeats without an
// end, such as lost links.
type Reader struct {
	events []event.Event
	newest time.Time         // of all events, kept or not
	linked map[string]bool   // by worker
	known  map[string]bool   // workers that a kept event shows
	names  map[string]string // one copy of the name of each worker with an event here
}

// NewReader returns a Reader without events.
func NewReader() *Reader {
	return &Reader{linked: map[string]bool{}, known: map[string]bool{}, names: map[string]string{}}
}

// Take takes the next event of a record.
func (r *Reader) Take(e event.Event) {
	if e.Kind == event.RunStarted { // the record of another run
		*r = *NewReader()
	}
	if e.Time.After(r.newest) {
		r.newest = e.Time
	}
	if !r.needs(e) {
		if len(r.events) > 0 {
			return
		}
		e.Worker = "" // the first event begins the wall time
	}
	e.Worker, e.Node, e.Detail, e.Other = r.name(e.Worker), "", "", nil
	r.events = append(r.events, e)
}

// Len returns the number of events that it keeps.
func (r *Reader) Len() int { return len(r.events) }

// needs reports whether the event may change the account.
func (r *Reader) needs(e event.Event) bool {
	switch e.Kind {
	case event.CheckProblem, event.Replaced, event.OutOfMemory, event.BrokenDevice, event.Straggler, event.Recovered, event.Resized:
		return false
	case event.LinkLost, event.FirstLine, event.Waiting: // they only show that there is a worker
		known := r.known[e.Worker]
		r.known[e.Worker] = true
		return !known
	case event.ImagePulling, event.ImagePulled, event.RankEnded:
	case event.LinkBack:
		again := r.linked[e.Worker]
		r.linked[e.Worker], r.known[e.Worker] = true, true
		return !again
	case event.Linked, event.CommandStarted:
		r.linked[e.Worker] = true
	case event.PodCreated, event.PodScheduled, event.ContainerStarted, event.WorkerLost:
		r.linked[e.Worker] = false
	case event.Unseen:
		r.linked[e.Worker] = false
		return r.known[e.Worker]
	default:
		return e.Kind.Known()
	}
	r.known[e.Worker] = true
	return true
}

// name returns a name as one string for all events.
func (r *Reader) name(worker string) string {
	if worker != "" && r.names[worker] == "" {
		r.names[worker] = worker
	}
	return r.names[worker]
}

// Account returns the account of the events so far. until is when the run was last seen alive; zero:
// at the last event.
func (r *Reader) Account(until time.Time) Account {
	return Of(timeline.Build(append(slices.Clip(r.events), event.Event{Time: r.newest}), until))
}
