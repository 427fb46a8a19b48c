package tracecontext

import (
	"crypto/sha256"
	"time"
)

// Span is a span that has ended. The controller writes spans to agent-exporter --spans, one JSON object a
// line.
type Span struct {
	Name   string    `json:"name"`
	Parent string    `json:"parent,omitempty"` // as in TRACEPARENT; "": none
	State  string    `json:"state,omitempty"`  // as in TRACESTATE
	Self   string    `json:"self"`             // as in TRACEPARENT
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Failed string    `json:"failed,omitempty"` // description of its error; "": none
	// Texts and Numbers are its attributes.
	Texts   map[string]string `json:"texts,omitempty"`
	Numbers map[string]int64  `json:"numbers,omitempty"`
	Marks   []Mark            `json:"marks,omitempty"`
}

// Mark is an event of a Span.
type Mark struct {
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Detail string    `json:"detail,omitempty"`
}

// Derived returns the place of something that outlives programs, such as a job. Its ids follow from a seed,
// which must be unique, so that each program finds the same ones. parent is the context of the caller, if it
// is valid.
func Derived(getenv func(string) string, seed string, parent Context) Run {
	r := Run{Parent: parent}
	if !On(getenv) {
		return r
	}
	trace, span := sha256.Sum256([]byte("trace "+seed)), sha256.Sum256([]byte("span "+seed))
	copy(r.Root.Trace[:], trace[:])
	copy(r.Root.Span[:], span[:])
	if parent.Valid() {
		r.Root.Trace, r.Root.State = parent.Trace, parent.State
	}
	if isSampled(getenv, r.Root.Trace, parent) {
		r.Root.Flags = sampled
	}
	return r
}
