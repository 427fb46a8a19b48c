package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"
)

// form is the JSON of an Event. Append writes the same without reflection.
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

// Append appends the event to line as one JSON object without a newline. Times are in UTC. An error
// leaves line as it was. json.Marshal would check and copy the result of MarshalJSON once more.
func (e Event) Append(line []byte) ([]byte, error) {
	if len(e.Other) > 0 {
		text, err := e.withOther()
		return append(line, text...), err
	}
	all, err := e.Time.UTC().AppendText(append(line, `{"time":"`...))
	if err != nil {
		return line, fmt.Errorf("encode event: %w", err)
	}
	all = appendText(append(all, `","kind":`...), string(e.Kind))
	all = strconv.AppendInt(append(all, `,"attempt":`...), int64(e.Attempt), 10)
	all = appendField(all, `,"worker":`, e.Worker)
	all = appendField(all, `,"node":`, e.Node)
	if e.Rank >= 0 {
		all = strconv.AppendInt(append(all, `,"rank":`...), int64(e.Rank), 10)
	}
	all = appendField(all, `,"detail":`, e.Detail)
	all = appendField(all, `,"cause":`, e.Cause)
	if e.Count != 0 {
		all = strconv.AppendInt(append(all, `,"count":`...), int64(e.Count), 10)
	}
	return append(all, '}'), nil
}

// withOther returns the JSON of an event that has fields which this release does not know.
func (e Event) withOther() ([]byte, error) {
	all := maps.Clone(e.Other)
	e.Other = nil
	text, err := e.Append(nil)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return json.Marshal(all)
}

// appendField appends a field, unless its text is empty.
func appendField(line []byte, name, text string) []byte {
	if text == "" {
		return line
	}
	return appendText(append(line, name...), text)
}

// appendText appends text as json.Marshal would.
func appendText(line []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a string has no error
			return append(line, quoted...)
		}
	}
	return append(append(append(line, '"'), text...), '"')
}

// MarshalJSON implements json.Marshaler.
func (e Event) MarshalJSON() ([]byte, error) { return e.Append(nil) }

// UnmarshalJSON implements json.Unmarshaler. It returns ErrNone for an object without time or kind.
func (e *Event) UnmarshalJSON(text []byte) error {
	var d decoder
	err := d.decode(text)
	if err == nil {
		*e = d.event
	}
	return err
}

// decoder reads events, and uses its memory again for the next one.
type decoder struct {
	event Event
	form  form
	again []byte
}

// decode sets event to what text has. It returns ErrNone for an object without time or kind.
func (d *decoder) decode(text []byte) error {
	d.form = form{}
	if err := json.Unmarshal(text, &d.form); err != nil {
		return err
	}
	f := &d.form
	if f.Time.IsZero() || f.Kind == "" {
		return ErrNone
	}
	d.event = Event{Time: f.Time, Kind: f.Kind, Attempt: f.Attempt, Worker: f.Worker, Node: f.Node, Rank: NoRank, Detail: f.Detail, Cause: f.Cause, Count: f.Count}
	if f.Rank != nil {
		d.event.Rank = *f.Rank
	}
	var err error
	if d.again, err = d.event.Append(d.again[:0]); err == nil && bytes.Equal(d.again, text) {
		return nil // it has no other fields
	}
	return d.other(text)
}

// other adds the fields that this release does not know.
func (d *decoder) other(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, name := range known {
		delete(all, name)
	}
	if len(all) > 0 {
		d.event.Other = all
	}
	return nil
}
