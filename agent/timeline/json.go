package timeline

import (
	"encoding/json"
	"time"
)

// The JSON of `agent timeline -o json`. Times within the run are seconds after From.
type (
	document struct {
		From     time.Time     `json:"from"`
		To       time.Time     `json:"to"`
		Seconds  float64       `json:"seconds"`
		Over     bool          `json:"over"`
		Exit     int           `json:"exit"`
		Why      string        `json:"why,omitempty"`
		Dropped  int           `json:"dropped"`
		Stands   int           `json:"stands,omitempty"` // for how many workers the one worker stands
		Goodput  any           `json:"goodput,omitempty"`
		Attempts []attemptJSON `json:"attempts"`
		Slowest  []slowestJSON `json:"slowest"`
		Workers  []workerJSON  `json:"workers"`
	}
	attemptJSON struct {
		Attempt int     `json:"attempt"`
		From    float64 `json:"from"`
		Seconds float64 `json:"seconds"`
		Over    bool    `json:"over"`
		Exit    int     `json:"exit"`
		Why     string  `json:"why,omitempty"`
		// Output is when a rank first printed something, in seconds after the start of the attempt.
		Output   *float64 `json:"first_output,omitempty"`
		OutputOf string   `json:"first_output_of,omitempty"`
	}
	slowestJSON struct {
		Phase   Phase   `json:"phase"`
		Worker  string  `json:"worker"`
		Node    string  `json:"node,omitempty"`
		Seconds float64 `json:"seconds"`
		Median  float64 `json:"median"`
		Cause   string  `json:"cause,omitempty"`
	}
	workerJSON struct {
		Worker string            `json:"worker"`
		Node   string            `json:"node,omitempty"`
		Phases map[Phase]float64 `json:"phases"` // seconds; they add up to the run's
		Spans  []spanJSON        `json:"spans"`
	}
	spanJSON struct {
		Phase   Phase   `json:"phase"`
		Attempt int     `json:"attempt"`
		From    float64 `json:"from"`
		Seconds float64 `json:"seconds"`
	}
)

// JSON returns the timeline as one JSON object. Lists are never null. goodput is the account that
// package goodput makes of the timeline; nil: none.
func (t *Timeline) JSON(goodput any) ([]byte, error) {
	d := document{Goodput: goodput, From: t.From.UTC(), To: t.To.UTC(), Seconds: t.Wall().Seconds(), Over: t.Over, Exit: t.Exit, Why: t.Why, Dropped: t.Dropped, Stands: t.Stands,
		Attempts: []attemptJSON{}, Slowest: []slowestJSON{}, Workers: []workerJSON{}}
	for _, a := range t.Attempts {
		one := attemptJSON{Attempt: a.Number, From: t.after(a.From), Seconds: a.To.Sub(a.From).Seconds(), Over: a.Over, Exit: a.Exit, Why: a.Why, OutputOf: a.FirstOf}
		if !a.First.IsZero() {
			after := a.First.Sub(a.From).Seconds()
			one.Output = &after
		}
		d.Attempts = append(d.Attempts, one)
	}
	for _, s := range t.Slowest {
		d.Slowest = append(d.Slowest, slowestJSON{s.Phase, s.Worker, s.Node, s.Took.Seconds(), s.Median.Seconds(), s.Cause})
	}
	for i := range t.Workers {
		w := &t.Workers[i]
		one := workerJSON{Worker: w.Name, Node: w.Node, Phases: map[Phase]float64{}, Spans: []spanJSON{}}
		for p, took := range w.Spent() {
			one.Phases[p] = took.Seconds()
		}
		for _, s := range w.Spans {
			one.Spans = append(one.Spans, spanJSON{s.Phase, s.Attempt, t.after(s.From), s.Took().Seconds()})
		}
		d.Workers = append(d.Workers, one)
	}
	return json.MarshalIndent(d, "", "  ")
}

// after returns a time in seconds after From.
func (t *Timeline) after(at time.Time) float64 { return at.Sub(t.From).Seconds() }
