package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// Timeline says what each worker of a run did, from From to To.
type Timeline struct {
	From, To time.Time
	Workers  []Worker // by name
	Slowest  []Slowest
	Attempts []Attempt
	Notes    []event.Event // of the run, about no single worker
	Over     bool          // the run has ended
	Exit     int           // its exit code
	Why      string        // the cause, if it failed
	Dropped  int           // events that the record does not have
	// Stands is the number of workers for which the one worker stands, in a short record; 0: for itself.
	Stands int

	problem event.Event // the worst finding of the preflight about one worker
}

// Worker is what one worker did.
type Worker struct {
	Name  string
	Node  string // "": unknown
	Spans []Span // without gaps from Timeline.From to Timeline.To
	Notes []event.Event
}

// Span is a time that a worker spent in one phase.
type Span struct {
	Phase    Phase
	Attempt  int
	From, To time.Time
}

// Took returns the length of the span.
func (s Span) Took() time.Duration { return s.To.Sub(s.From) }

// Attempt is one try of the command.
type Attempt struct {
	Number   int
	From, To time.Time
	Exit     int
	Why      string // "" if it did not fail
	Over     bool   // it has ended

	First   time.Time // when a rank first printed something; zero: unknown
	FirstOf string    // which one, as far as that is known
}

// size returns the number of workers.
func (t *Timeline) size() int { return cmp.Or(t.Stands, len(t.Workers)) }

// Wall returns the wall time.
func (t *Timeline) Wall() time.Duration { return t.To.Sub(t.From) }

// Spent returns how long the worker was in each phase. The sum is the wall time.
func (w *Worker) Spent() map[Phase]time.Duration {
	spent := map[Phase]time.Duration{}
	for _, s := range w.Spans {
		spent[s.Phase] += s.Took()
	}
	return spent
}

// Build returns the timeline of the last run in events. until is when the launcher of a run
// without an end was last seen alive; zero: at the last event. It has no length without events.
//
// The wall time begins with the launcher. If a pod had not started then, it begins when the pod was
// created.
func Build(events []event.Event, until time.Time) *Timeline {
	events = lastRun(events)
	slices.SortStableFunc(events, byTime)
	return build(events, until)
}

func byTime(a, b event.Event) int { return a.Time.Compare(b.Time) }

// build is Build for the sorted events of one run.
func build(events []event.Event, until time.Time) *Timeline {
	t := &Timeline{}
	if len(events) == 0 {
		return t
	}
	t.From, t.To = bounds(events, until)
	b := builder{t: t, run: runOf(events), workers: map[string]*building{}}
	for _, e := range events {
		b.take(e)
	}
	t.Workers = b.finish()
	t.Slowest = slowest(t)
	return t
}

// lastRun returns a copy of the events of the last run.
func lastRun(events []event.Event) []event.Event {
	for i := len(events) - 1; i > 0; i-- {
		if events[i].Kind == event.RunStarted {
			return slices.Clone(events[i:])
		}
	}
	return slices.Clone(events)
}

// bounds returns when the wall time begins and ends. The events are sorted.
func bounds(events []event.Event, until time.Time) (from, to time.Time) {
	from, to = events[0].Time, events[len(events)-1].Time
	ended := false
	for _, e := range events {
		if e.Kind == event.RunStarted {
			from = e.Time
		}
		if e.Kind == event.RunEnded {
			to, ended = e.Time, true
		}
	}
	created, begun := map[string]time.Time{}, from
	for _, e := range events {
		switch e.Kind {
		case event.PodCreated:
			created[e.Worker] = e.Time
		case event.ContainerStarted, event.Linked:
			if at, ok := created[e.Worker]; ok && !e.Time.Before(begun.Truncate(time.Second)) && at.Before(from) {
				from = at
			}
			delete(created, e.Worker)
		}
	}
	for _, at := range created { // these have not started at all
		if at.Before(from) {
			from = at
		}
	}
	if !ended && until.After(to) {
		to = until
	}
	if to.Before(from) {
		to = from
	}
	return from, to
}

// builder builds a timeline event by event.
type builder struct {
	t       *Timeline
	run     *run
	workers map[string]*building
}

// building is a worker whose last span is open.
type building struct {
	Worker
	state worker
}

// take takes the next event in time.
func (b *builder) take(e event.Event) {
	b.note(e)
	if e.Worker == "" {
		b.t.Notes = append(b.t.Notes, e)
	}
	all := b.run.apply(e)
	w := b.of(e)
	if w != nil {
		w.state.apply(e)
		w.Notes = append(w.Notes, e)
		if e.Node != "" {
			w.Node = e.Node
		}
		b.turn(w, e.Time)
	}
	if all {
		for _, w := range b.workers {
			b.turn(w, e.Time)
		}
	}
}

// of returns the worker that an event concerns, or nil. Kinds that a worker does not begin with, and
// kinds of a newer release, do not make a worker.
func (b *builder) of(e event.Event) *building {
	if w := b.workers[e.Worker]; w != nil || !introduces(e) {
		return w
	}
	w := &building{Worker: Worker{Name: e.Worker, Spans: []Span{{Phase: Unknown, From: b.t.From}}}}
	b.workers[e.Worker] = w
	return w
}

// introduces reports whether an event makes its worker known.
func introduces(e event.Event) bool {
	if e.Worker == "" {
		return false
	}
	switch e.Kind {
	case event.PodCreated, event.PodScheduled, event.ImagePulling, event.ImagePulled, event.ContainerStarted, event.Waiting,
		event.Linked, event.LinkLost, event.LinkBack, event.CommandStarted, event.WorkerLost, event.FirstLine, event.RankEnded:
		return true
	}
	return false
}

// turn ends the open span of a worker at a time if its phase is another one now. Spans have no length
// before From and after To.
func (b *builder) turn(w *building, at time.Time) {
	phase, attempt := b.run.phase(w.Name, &w.state)
	last := &w.Spans[len(w.Spans)-1]
	if last.Phase == phase && (last.Attempt == attempt || phase != Running) {
		return
	}
	if at.After(b.t.To) {
		return
	}
	if !at.After(last.From) { // the span had no length
		last.Phase, last.Attempt = phase, attempt
		return
	}
	last.To = at
	w.Spans = append(w.Spans, Span{Phase: phase, Attempt: attempt, From: at})
}

// note takes what an event says about the run.
func (b *builder) note(e event.Event) {
	t := b.t
	open := func() *Attempt {
		if n := len(t.Attempts); n > 0 && !t.Attempts[n-1].Over {
			return &t.Attempts[n-1]
		}
		return nil
	}
	switch e.Kind {
	case event.CommandStarted:
		if open() == nil {
			t.Attempts = append(t.Attempts, Attempt{Number: e.Attempt, From: e.Time, To: t.To})
		}
	case event.FirstLine:
		if a := open(); a != nil && a.Number == e.Attempt && (a.First.IsZero() || e.Time.Before(a.First)) {
			a.First, a.FirstOf = e.Time, whose(e)
		}
	case event.AttemptEnded:
		if a := open(); a != nil {
			a.To, a.Over, a.Exit, a.Why = e.Time, true, e.Count, e.Detail
		} else { // a failed preflight
			t.Attempts = append(t.Attempts, Attempt{Number: e.Attempt, From: e.Time, To: e.Time, Over: true, Exit: e.Count, Why: e.Detail})
		}
	case event.RunEnded:
		t.Over, t.Exit, t.Why = true, e.Count, e.Detail
	case event.CheckProblem:
		if t.problem.Worker == "" {
			t.problem = e
		}
	case event.Dropped:
		t.Dropped += e.Count
	}
}

// whose says which process an event of a rank is about. A line of an mpirun may not tell.
func whose(e event.Event) string {
	switch {
	case e.Rank >= 0:
		return fmt.Sprint("rank ", e.Rank)
	case e.Worker == "":
		return "the command (the line names no rank)"
	}
	return e.Detail
}

// finish ends the open spans, and returns the workers by name. Neighbors of one phase are one span.
func (b *builder) finish() []Worker {
	var all []Worker
	for _, w := range b.workers {
		w.Spans[len(w.Spans)-1].To = b.t.To
		var spans []Span
		for _, s := range w.Spans {
			if n := len(spans); n > 0 && spans[n-1].Phase == s.Phase && (s.Phase != Running || spans[n-1].Attempt == s.Attempt) {
				spans[n-1].To = s.To
				continue
			}
			if s.Took() > 0 || len(w.Spans) == 1 {
				spans = append(spans, s)
			}
		}
		w.Spans = spans
		all = append(all, w.Worker)
	}
	slices.SortFunc(all, func(a, b Worker) int { return byName(a.Name, b.Name) })
	return all
}
