package wire

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// Spec is what a session runs.
type Spec struct {
	// Argv is the program and its arguments. With Line set it is ignored.
	Argv []string
	// Line is one line for the worker's /bin/sh -c, as ssh has it; where there
	// is no /bin/sh the agent runs what it can of it.
	Line string
	// Env is added to the worker's own environment, K=V each.
	Env []string
	// Packed comes behind Env; only for a worker whose WELCOME says Unpacks.
	Packed []*Packed
	// Dir is the working directory; empty: the container's own.
	Dir string
	// Stdin: the session reads standard input; otherwise it has /dev/null.
	Stdin bool
	// EndsOnFailure: the process is one of a group. When the first process ends badly, what it leaves behind is
	// stopped, so that the end is told though a child of it holds the output open.
	// It is no part of the Hash, which workers without it could not make.
	EndsOnFailure bool
	// GatherMillis: little output on a stream waits so long after what was last sent, so
	// that lines of many ranks come in fewer pieces; 0: none does. It is no part of the
	// Hash either.
	GatherMillis int
	// InOrder: the launcher writes both outputs in the order in which they arrive. A worker
	// then need not leave time between what it sends of one and of the other. It is no part
	// of the Hash either.
	InOrder bool
	// JudgesRanks: the first process is a launcher that starts ranks, whose word is doubted if
	// one of them fails; see ExitRecord.Failed. It is no part of the Hash either.
	JudgesRanks bool
}

// specJSON carries words as bytes: argv and environment need not be UTF-8, and
// JSON strings would silently change what is not.
type specJSON struct {
	Argv  [][]byte `json:"argv,omitempty"`
	Line  []byte   `json:"line,omitempty"`
	Env   [][]byte `json:"env,omitempty"`
	Zip   [][]byte `json:"packed,omitempty"`
	Dir   []byte   `json:"dir,omitempty"`
	Stdin bool     `json:"stdin,omitempty"`

	EndsOnFailure bool `json:"endsOnFailure,omitempty"`
	GatherMillis  int  `json:"gatherMillis,omitempty"`
	InOrder       bool `json:"inOrder,omitempty"`
	JudgesRanks   bool `json:"judgesRanks,omitempty"`
}

// MarshalJSON encodes every word as base64. The error says that what is packed would
// be too long for a worker.
func (s Spec) MarshalJSON() ([]byte, error) {
	var zips [][]byte
	long := 0
	for _, p := range s.Packed {
		if long += len(p.text); long > MaxOpen {
			return nil, fmt.Errorf("more than %d bytes are packed", MaxOpen)
		}
		zips = append(zips, p.zip)
	}
	return json.Marshal(specJSON{toBytes(s.Argv), []byte(s.Line), toBytes(s.Env), zips, []byte(s.Dir), s.Stdin, s.EndsOnFailure, s.GatherMillis, s.InOrder, s.JudgesRanks})
}

// UnmarshalJSON is the inverse of MarshalJSON, but that what was packed is in Env then.
func (s *Spec) UnmarshalJSON(b []byte) error {
	var j specJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	env, err := unpack(j.Zip)
	if err != nil {
		return err
	}
	*s = Spec{toStrings(j.Argv), string(j.Line), append(toStrings(j.Env), env...), nil, string(j.Dir), j.Stdin, j.EndsOnFailure, j.GatherMillis, j.InOrder, j.JudgesRanks}
	return nil
}

// Hash identifies the spec: create-or-attach refuses the same id with another
// hash. It guards against mistakes, not against attackers, who would have to be
// the job's own launcher: FNV keeps cryptography, 33 MB of zeroed memory among
// it, out of the worker. What is packed counts as it does in Env. Every word is preceded
// by its length, so no two specs look alike but for EndsOnFailure, GatherMillis, InOrder and
// JudgesRanks.
func (s Spec) Hash() string {
	h := fnv.New128a()
	words := func(list ...string) {
		fmt.Fprintf(h, "%d;", len(list))
		for _, w := range list {
			fmt.Fprintf(h, "%d:%s", len(w), w)
		}
	}
	words(s.Argv...)
	words(s.Line)
	words(s.environment()...)
	words(s.Dir)
	fmt.Fprintf(h, "%t", s.Stdin)
	return hex.EncodeToString(h.Sum(nil))
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func toStrings(list [][]byte) []string {
	out := make([]string, 0, len(list))
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}
