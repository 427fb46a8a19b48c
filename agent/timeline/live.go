package timeline

import (
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
)

const (
	// settleEvery is how often phases are looked for that have ended, besides the moments at which
	// many end. settleBehind is how late an event may come, because the launcher learns of a slow
	// pull only later.
	settleEvery  = 30 * time.Second
	settleBehind = 15 * time.Second
)

// Live follows a run while it goes on. It returns each span of a worker once, after the span has ended,
// and says at any time how many workers are in each phase. The spans are those of Build for the whole
// run. Live keeps a few events for each worker, so a run of days needs no more memory than one of
// minutes.
type Live struct {
	events []event.Event        // those on which open phases depend
	told   map[string]time.Time // end of the last span that was returned, by worker
	nodes  map[string]string    // of each worker
	run    Timeline             // attempts
	seen   time.Time            // time of the newest event
	looked time.Time            // time of the event at which spans were last looked for
	starts bool                 // the newest events have started an attempt on workers
	over   bool                 // the run has ended

	attempts int // number of the newest attempt that was started, plus 1
}

// Ended is a span of a worker that has ended.
type Ended struct {
	Worker string
	Node   string // "": unknown
	Span
	Cause string // of a long time in the phase; "": unknown
}

// Take takes the next event, in the order in which the launcher has recorded them. It returns the
// spans that have ended meanwhile, and the attempt if one has ended with this event.
func (l *Live) Take(e event.Event) (spans []Ended, attempt *Attempt) {
	if l.over {
		return nil, nil
	}
	switch {
	case e.Kind == event.CommandStarted:
		l.starts = l.starts || e.Attempt >= l.attempts
		l.attempts = max(l.attempts, e.Attempt+1)
	case l.starts: // all workers of the attempt are known
		l.starts = false
		spans = l.look(l.seen, false)
	}
	if e.Time.After(l.seen) {
		l.seen = e.Time
	}
	if l.looked.IsZero() {
		l.looked = e.Time
	}
	if e.Node != "" {
		if l.nodes == nil {
			l.nodes = map[string]string{}
		}
		l.nodes[e.Worker] = e.Node
	}
	attempt = l.note(e)
	if turns(e.Kind) {
		l.events = append(l.events, e)
	}
	switch {
	case e.Kind == event.RunEnded:
		l.over = true
		spans = append(spans, l.look(e.Time, true)...)
		if attempt = l.cut(); attempt != nil { // its own end is missing
			attempt.To = e.Time
		}
	case e.Kind == event.AllLinked || e.Kind == event.Checked || e.Kind == event.AttemptEnded:
		spans = append(spans, l.look(e.Time, false)...)
	case e.Time.Sub(l.looked) > settleEvery:
		l.looked = e.Time
		spans = append(spans, l.look(e.Time.Add(-settleBehind), false)...)
	}
	return spans, attempt
}

// End ends the spans that are open, and the attempt if one is, at a time. It is for a run whose end was
// not recorded.
func (l *Live) End(at time.Time) (spans []Ended, attempt *Attempt) {
	if l.over {
		return nil, nil
	}
	l.over = true
	if l.seen.After(at) {
		at = l.seen
	}
	l.seen = at
	if attempt = l.cut(); attempt != nil {
		attempt.To = at
	}
	return l.look(at, true), attempt
}

// Phases returns the number of workers in each phase after the events so far. A lost worker counts until
// an attempt has started without it.
func (l *Live) Phases() map[Phase]int {
	slices.SortStableFunc(l.events, byTime)
	count := map[Phase]int{}
	for _, w := range build(l.events, l.seen.Add(time.Nanosecond)).Workers {
		last := w.Spans[len(w.Spans)-1]
		if last.Phase != Lost || last.Attempt >= l.attempts-1 {
			count[last.Phase]++
		}
	}
	return count
}

// note takes what an event says about attempts, and returns the attempt that it has ended.
func (l *Live) note(e event.Event) *Attempt {
	b := builder{t: &l.run}
	b.note(e)
	if e.Kind != event.AttemptEnded {
		return nil
	}
	return l.cut()
}

// cut returns the newest attempt, and forgets all.
func (l *Live) cut() *Attempt {
	if len(l.run.Attempts) == 0 {
		return nil
	}
	newest := l.run.Attempts[len(l.run.Attempts)-1]
	l.run.Attempts = nil
	return &newest
}

// turns reports whether events of a kind may end a phase, or say why it is long.
func turns(k event.Kind) bool {
	switch k {
	case event.RunStarted, event.PodCreated, event.PodScheduled, event.ImagePulling, event.ImagePulled, event.ContainerStarted, event.Waiting,
		event.Linked, event.LinkBack, event.AllLinked, event.CheckStarted, event.Checked, event.CommandStarted, event.WorkerLost,
		event.AttemptEnded, event.Restart, event.RunEnded:
		return true
	}
	return false
}

// look returns the spans that have ended by a time and were not returned before. all includes those
// that are open.
func (l *Live) look(until time.Time, all bool) (ended []Ended) {
	slices.SortStableFunc(l.events, byTime)
	end := l.seen
	if !all {
		end = end.Add(time.Nanosecond) // a span that begins now has a length, and so the one before it an end
	}
	line := build(l.events, end)
	for i := range line.Workers {
		w := &line.Workers[i]
		spans := w.Spans
		if !all {
			spans = spans[:len(spans)-1]
		}
		for _, s := range spans {
			told, before := l.told[w.Name]
			if s.To.After(until) || !s.To.After(told) {
				continue
			}
			if before {
				s.From = told // what came before it is forgotten, and there are no gaps
			}
			if l.told == nil {
				l.told = map[string]time.Time{}
			}
			l.told[w.Name] = s.To
			ended = append(ended, Ended{Worker: w.Name, Node: l.nodes[w.Name], Span: s, Cause: w.causeOf(s)})
		}
	}
	l.forget(until)
	return ended
}

// forget forgets the events up to a time on which the phases after it do not depend. These are those of
// a worker before its newest pod, start or loss, and all but the newest of each kind. The first start
// of the newest attempt stays, because it ends a phase of every worker. The events are sorted.
func (l *Live) forget(until time.Time) {
	type key struct {
		worker string
		kind   event.Kind
	}
	newest, first, started := map[key]int{}, map[string]int{}, -1
	for i, e := range l.events {
		if e.Time.After(until) {
			break
		}
		newest[key{e.Worker, e.Kind}] = i
		switch e.Kind {
		case event.PodCreated, event.ContainerStarted, event.WorkerLost:
			first[e.Worker] = i
		case event.CommandStarted:
			if started < 0 || l.events[started].Attempt != e.Attempt {
				started = i
			}
		}
	}
	kept := l.events[:0]
	for i, e := range l.events {
		if e.Time.After(until) || newest[key{e.Worker, e.Kind}] == i && i >= first[e.Worker] || i == started {
			kept = append(kept, e)
		}
	}
	clear(l.events[len(kept):])
	l.events = kept
}

// causeOf returns the newest cause that events give for one span.
func (w *Worker) causeOf(s Span) string {
	one := Worker{Spans: []Span{s}, Notes: slices.DeleteFunc(slices.Clone(w.Notes), func(e event.Event) bool {
		return e.Time.Before(s.From) || e.Time.After(s.To)
	})}
	return one.cause(s.Phase)
}
