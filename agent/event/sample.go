package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Sample holds numbers of a run at one time. They are for agent-exporter only: a file of events would
// soon hold little else.
type Sample struct {
	// OutputBytes is the output of processes on the workers that has reached the launcher.
	OutputBytes uint64 `json:"outputBytes"`
	// BufferedBytes is the part of it that the launcher still holds, because nothing has read it yet.
	BufferedBytes uint64 `json:"bufferedBytes"`
	// Waiting counts the workers that are not ready, by reason.
	Waiting map[string]int `json:"waiting,omitempty"`
	// Progress has the numbers that rules for output lines have captured.
	Progress []Number `json:"progress,omitempty"`
}

// Number is the largest value that one group of a rule has captured in the current attempt.
type Number struct {
	Rule  string  `json:"rule"`  // "expect 'step (\d+)'"
	Group int     `json:"group"` // of the rule's expression, from 1
	Value float64 `json:"value"` // finite
}

// sampleField is the field of an event that holds a Sample.
const sampleField = "sample"

// Event returns the event that carries the sample.
func (s Sample) Event(at time.Time, attempt int) (Event, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return Event{}, fmt.Errorf("encode sample: %w", err)
	}
	return Event{Time: at, Kind: Sampled, Attempt: attempt, Rank: NoRank, Other: map[string]json.RawMessage{sampleField: text}}, nil
}

// SampleOf returns the sample that an event carries. It returns false if there is none.
func SampleOf(e Event) (s Sample, ok bool) {
	text, ok := e.Other[sampleField]
	if e.Kind != Sampled || !ok || json.Unmarshal(text, &s) != nil {
		return Sample{}, false
	}
	return s, true
}
