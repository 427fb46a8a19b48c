package join

import (
	"encoding/json"

	"github.com/musterhq/muster/exec/wire"
)

// work is what the lead wants of one member, whole.
type work struct {
	Attempt int    `json:"attempt"`
	Start   []int  `json:"start,omitempty"` // indexes of processes of the launch
	Stop    []halt `json:"stop,omitempty"`
}

// halt ends one process and all that descends from it: TERM, after GraceMillis KILL.
type halt struct {
	Process     int   `json:"process"`
	GraceMillis int64 `json:"graceMillis"`
}

// done is what a member tells of an attempt, whole.
type done struct {
	Attempt int   `json:"attempt"`
	Ends    []end `json:"ends,omitempty"`
	// Broken says why the member cannot take part at all.
	Broken string `json:"broken,omitempty"`
	// Settled: the attempt was over before the member lost rank 0, if it did.
	Settled bool `json:"settled,omitempty"`
	// Past are the attempts that failed before, as rank 0 has told them.
	Past json.RawMessage `json:"past,omitempty"`
}

// end is how one process ended.
type end struct {
	Process int             `json:"process"`
	Exit    wire.ExitRecord `json:"exit"`
}

// text encodes what is made of numbers and strings only, for which there is no error.
func text(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
