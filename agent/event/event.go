package event

import (
	"encoding/json"
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
