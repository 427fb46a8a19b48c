package timeline

import (
	"maps"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// Tracker follows a run while it goes on, event by event. Its memory grows with the number of workers, and
// not with time. Unlike Build, it cannot look ahead: it does not know which workers the next attempt
// needs. It takes events as they come, and not in the order of their times.
type Tracker struct {
	run     run
	from    time.Time // start of the launcher
	workers map[string]*tracked
	spent   map[Phase]time.Duration // in spans that have ended
	ended   func(worker string, s Span)
}

// tracked is a worker in a Tracker.
type tracked struct {
	state   worker
	phase   Phase
	attempt int
	since   time.Time // start of the phase
	fresh   bool      // no attempt has used its pod yet
	settled bool      // it is known whether its container started after the launcher
	early   []Span    // spans that ended before it was settled
}

// NewTracker returns a Tracker. It calls ended with each span that has ended; nil means not to.
func NewTracker(ended func(worker string, s Span)) *Tracker {
	if ended == nil {
		ended = func(string, Span) {}
	}
	return &Tracker{run: run{takes: map[part]bool{}}, workers: map[string]*tracked{}, spent: map[Phase]time.Duration{}, ended: ended}
}

// Take takes the next event.
func (t *Tracker) Take(e event.Event) {
	switch e.Kind {
	case event.RunStarted:
		t.from = e.Time
	case event.CommandStarted:
		t.begin(e)
	case event.Restart:
		t.run.last = max(t.run.last, e.Attempt)
	case event.Replaced:
		if w := t.workers[e.Worker]; w != nil && !w.fresh {
			t.forget(e.Worker, e.Time)
		}
	}
	all := t.run.apply(e)
	if w := t.of(e); w != nil {
		t.apply(w, e)
		t.turn(e.Worker, w, e.Time)
	}
	if all {
		for name, w := range t.workers {
			t.turn(name, w, e.Time)
		}
	}
}

// begin notes that a worker takes part in an attempt. When a new attempt begins, workers that were lost
// before it are forgotten: it runs without them.
func (t *Tracker) begin(e event.Event) {
	if e.Attempt != t.run.attempt || !t.run.runs {
		clear(t.run.takes)
		for name, w := range t.workers {
			if w.state.lost && name != e.Worker {
				t.forget(name, e.Time)
			}
		}
	}
	t.run.takes[part{e.Attempt, e.Worker}] = true
	t.run.last = max(t.run.last, e.Attempt)
}

// of returns the worker that an event concerns, or nil.
func (t *Tracker) of(e event.Event) *tracked {
	if w := t.workers[e.Worker]; w != nil || !introduces(e) {
		return w
	}
	w := &tracked{phase: Unknown, since: t.from}
	if e.Kind == event.PodCreated || t.from.IsZero() {
		w.since = e.Time
	}
	t.workers[e.Worker] = w
	return w
}

// apply takes an event of a worker.
func (t *Tracker) apply(w *tracked, e event.Event) {
	w.state.apply(e)
	switch e.Kind {
	case event.PodCreated:
		w.fresh = true
	case event.ContainerStarted, event.Linked, event.CommandStarted:
		w.fresh = w.fresh && e.Kind != event.CommandStarted
		t.settle(e.Worker, w, e.Time)
	}
}

// settle decides whether the time before the launcher started counts for a worker, when its container
// has started: as in Build, only if it started after the launcher. Kubernetes' times have whole seconds.
func (t *Tracker) settle(name string, w *tracked, at time.Time) {
	if w.settled {
		return
	}
	before := at.Before(t.from.Truncate(time.Second))
	for _, s := range w.early {
		if before && s.From.Before(t.from) {
			s.From = t.from
		}
		t.end(name, s)
	}
	if before && w.since.Before(t.from) {
		w.since = t.from
	}
	w.early, w.settled = nil, true
}

// turn ends the open span of a worker if its phase is another one now.
func (t *Tracker) turn(name string, w *tracked, at time.Time) {
	phase, attempt := t.run.phase(name, &w.state)
	if w.phase == phase && (w.attempt == attempt || phase != Running) {
		return
	}
	if at.After(w.since) {
		s := Span{Phase: w.phase, Attempt: w.attempt, From: w.since, To: at}
		if w.settled {
			t.end(name, s)
		} else {
			w.early = append(w.early, s)
		}
		w.since = at
	}
	w.phase, w.attempt = phase, attempt
}

// end counts a span.
func (t *Tracker) end(worker string, s Span) {
	if s.To.After(s.From) {
		t.spent[s.Phase] += s.Took()
		t.ended(worker, s)
	}
}

// forget ends the open span of a worker that another one replaces, and removes the worker.
func (t *Tracker) forget(name string, at time.Time) {
	w := t.workers[name]
	for _, s := range append(w.early, Span{Phase: w.phase, Attempt: w.attempt, From: w.since, To: at}) {
		t.end(name, s)
	}
	delete(t.workers, name)
}

// Phases returns the number of workers in each phase.
func (t *Tracker) Phases() map[Phase]int {
	count := map[Phase]int{}
	for _, w := range t.workers {
		count[w.phase]++
	}
	return count
}

// Spent returns how long all workers together were in each phase until now.
func (t *Tracker) Spent(now time.Time) map[Phase]time.Duration {
	spent := maps.Clone(t.spent)
	for _, w := range t.workers {
		for _, s := range w.early {
			spent[s.Phase] += s.Took()
		}
		spent[w.phase] += max(0, now.Sub(w.since))
	}
	return spent
}
