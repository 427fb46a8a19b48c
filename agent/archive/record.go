package archive

import (
	"encoding/json"
	"time"
)

// IndexName is the name of the index in a directory.
const IndexName = "muster-logs.jsonl"

// NoRank is the rank of a process that has none, such as a parameter server.
const NoRank = -1

// Kinds of lines in the index.
const (
	kindRun          = "run"          // the first line: the run that writes
	kindAttempt      = "attempt"      // an attempt starts its processes
	kindProcess      = "process"      // a process of the attempt, and where its output begins
	kindFile         = "file"         // a file that the run is about to create
	kindTime         = "time"         // when the byte at an offset of a file was written
	kindAttemptEnded = "attemptEnded" // with its exit code
	kindRunEnded     = "runEnded"     // with the exit code of the run
)

// record is a line of the index. Which fields it has depends on its kind.
type record struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`

	Run       string `json:"run,omitempty"` // id of the run
	Job       string `json:"job,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Version   string `json:"version,omitempty"` // of Muster

	Attempt *int   `json:"attempt,omitempty"`
	Rank    *int   `json:"rank,omitempty"`
	Label   string `json:"label,omitempty"` // rank 3, ps 0
	Worker  string `json:"worker,omitempty"`
	Node    string `json:"node,omitempty"`
	Stdout  *place `json:"stdout,omitempty"`
	Stderr  *place `json:"stderr,omitempty"`

	File string `json:"file,omitempty"`
	From int64  `json:"from,omitempty"`

	Code *int   `json:"code,omitempty"`
	Why  string `json:"why,omitempty"`
}

// place is where the output of a process begins.
type place struct {
	File string `json:"file"`
	From int64  `json:"from"` // offset in bytes
}

// line returns r as a line of the index.
func (r record) line() ([]byte, error) {
	r.At = r.At.UTC()
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}
