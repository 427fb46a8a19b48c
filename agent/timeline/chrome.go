package timeline

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/event"
)

// chromeEvent is one entry of the Trace Event Format, which Perfetto and Chrome's about:tracing read.
// Times are microseconds.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Ph    string         `json:"ph"`            // X: a span, i: a moment, M: a name
	TS    int64          `json:"ts"`            // after the run's begin
	Dur   *int64         `json:"dur,omitempty"` // of a span
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"` // of a moment; t: its thread
	Args  map[string]any `json:"args,omitempty"`
}

// The process of all events, and the thread of the run itself. Worker i has thread i+1.
const (
	chromePID = 1
	chromeRun = 0
)

// Chrome returns the timeline as Chrome trace events: a thread for the run with its attempts, and one
// for each worker with its phases and what happened there.
func (t *Timeline) Chrome() ([]byte, error) {
	named := func(what string, tid int, name string) chromeEvent {
		return chromeEvent{Name: what, Ph: "M", PID: chromePID, TID: tid, Args: map[string]any{"name": name}}
	}
	span := func(name, cat string, tid int, from, to time.Time, args map[string]any) chromeEvent {
		begin, end := t.micros(from), t.micros(to)
		took := end - begin
		return chromeEvent{Name: name, Cat: cat, Ph: "X", TS: begin, Dur: &took, PID: chromePID, TID: tid, Args: args}
	}
	all := []chromeEvent{named("process_name", chromeRun, "agent run"), named("thread_name", chromeRun, "run")}
	for _, a := range t.Attempts {
		all = append(all, span(fmt.Sprintf("attempt %d", a.Number), "attempt", chromeRun, a.From, a.To, map[string]any{"exit": a.Exit, "why": a.Why}))
	}
	for i := range t.Workers {
		w, tid := &t.Workers[i], i+1
		name := w.Name
		if w.Node != "" {
			name += " on " + w.Node
		}
		all = append(all, named("thread_name", tid, name))
		for _, s := range w.Spans {
			all = append(all, span(string(s.Phase), "phase", tid, s.From, s.To, map[string]any{"attempt": s.Attempt}))
		}
		for _, e := range w.Notes {
			if !marked(e.Kind) || e.Time.Before(t.From) || e.Time.After(t.To) {
				continue
			}
			args := map[string]any{"attempt": e.Attempt}
			if e.Rank >= 0 {
				args["rank"] = e.Rank
			}
			if e.Detail != "" {
				args["detail"] = e.Detail
			}
			all = append(all, chromeEvent{Name: string(e.Kind), Cat: "event", Ph: "i", TS: t.micros(e.Time), PID: chromePID, TID: tid, Scope: "t", Args: args})
		}
	}
	return json.MarshalIndent(map[string]any{"traceEvents": all, "displayTimeUnit": "ms"}, "", " ")
}

// marked reports whether events of a kind are shown as moments. The beginning of a phase shows
// others.
func marked(k event.Kind) bool {
	switch k {
	case event.Waiting, event.FirstLine, event.LinkLost, event.LinkBack, event.RankEnded, event.WorkerLost, event.Replaced, event.CheckProblem, event.Straggler, event.Recovered,
		event.OutOfMemory, event.BrokenDevice:
		return true
	}
	return !k.Known()
}

// micros returns a time in microseconds after From. A time before it, or after To, is not in the
// trace.
func (t *Timeline) micros(at time.Time) int64 {
	switch {
	case at.Before(t.From):
		at = t.From
	case at.After(t.To):
		at = t.To
	}
	return at.Sub(t.From).Microseconds()
}
