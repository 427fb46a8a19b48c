package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// NoRank is the Rank of an event that concerns no single rank.
const NoRank = -1

// Event is one thing that happened in a run.
type Event struct {
	Time    time.Time
	Kind    Kind
	Attempt int    // the attempt that it belongs to, from 0
	Worker  string // the worker that it concerns; "": the whole run
	Node    string // the node of that worker, if it is known
	Rank    int    // NoRank: no single rank
	Detail  string // a cause or a result, for people
	Cause   string // the cause as one word of a fixed set, for kinds that have one; else ""
	Count   int    // how many, for kinds that count something; else 0

	// Other holds the fields that this release does not know.
	Other map[string]json.RawMessage
}

// form is the JSON of an Event.
type form struct {
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind"`
	Attempt int       `json:"attempt"`
	Worker  string    `json:"worker,omitempty"`
	Node    string    `json:"node,omitempty"`
	Rank    *int      `json:"rank,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Cause   string    `json:"cause,omitempty"`
	Count   int       `json:"count,omitempty"`
}

// known lists the names of the fields in form.
var known = [...]string{"time", "kind", "attempt", "worker", "node", "rank", "detail", "cause", "count"}

// MarshalJSON implements json.Marshaler. Times are in UTC.
func (e Event) MarshalJSON() ([]byte, error) {
	f := form{Time: e.Time.UTC(), Kind: e.Kind, Attempt: e.Attempt, Worker: e.Worker, Node: e.Node, Detail: e.Detail, Cause: e.Cause, Count: e.Count}
	if e.Rank >= 0 {
		f.Rank = &e.Rank
	}
	text, err := json.Marshal(f)
	if err != nil || len(e.Other) == 0 {
		return text, err
	}
	all := maps.Clone(e.Other)
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler. It returns ErrNone for an object without time or kind.
func (e *Event) UnmarshalJSON(text []byte) error {
	var f form
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	if f.Time.IsZero() || f.Kind == "" {
		return ErrNone
	}
	*e = Event{Time: f.Time, Kind: f.Kind, Attempt: f.Attempt, Worker: f.Worker, Node: f.Node, Rank: NoRank, Detail: f.Detail, Cause: f.Cause, Count: f.Count}
	if f.Rank != nil {
		e.Rank = *f.Rank
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range known {
		delete(all, name)
	}
	if len(all) > 0 {
		e.Other = all
	}
	return nil
}
