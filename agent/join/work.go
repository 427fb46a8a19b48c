package join

import (
	"encoding/json"

	"github.com/musterhq/muster/exec/wire"
)

// work is the complete work that the lead wants from one member.
type work struct {
	Attempt int    `json:"attempt"`
	Start   []int  `json:"start,omitempty"` // indexes of processes of the launch
	Stop    []halt `json:"stop,omitempty"`
}

// halt stops one process and its descendants: TERM, then KILL after GraceMillis.
type halt struct {
	Process     int   `json:"process"`
	GraceMillis int64 `json:"graceMillis"`
}

// done is the complete state that a member reports about an attempt.
type done struct {
	Attempt int   `json:"attempt"`
	Ends    []end `json:"ends,omitempty"`
	// Broken is the reason why the member cannot take part at all.
	Broken string `json:"broken,omitempty"`
	// Settled means that the attempt was over before the member lost rank 0.
	Settled bool `json:"settled,omitempty"`
	// Past lists the earlier failed attempts, as reported by rank 0.
	Past json.RawMessage `json:"past,omitempty"`
}

// end is how one process ended.
type end struct {
	Process int             `json:"process"`
	Exit    wire.ExitRecord `json:"exit"`
}

// text encodes a value of numbers and strings only, which cannot fail.
func text(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
