package wire

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// Spec is what a session runs.
type Spec struct {
	// Argv is the program and its arguments. It is ignored if Line is set.
	Argv []string
	// Line is one line for the worker's /bin/sh -c, as for ssh. Without /bin/sh the agent runs what
	// it understands of the line.
	Line string
	// Env is added to the worker's own environment, K=V each.
	Env []string
	// Packed is added after Env. It is only for a worker whose WELCOME says Unpacks.
	Packed []*Packed
	// Dir is the working directory; empty: that of the container.
	Dir string
	// Stdin says that the session reads standard input. Otherwise it has /dev/null.
	Stdin bool
	// EndsOnFailure says that the process belongs to a group. If the first process fails, the
	// processes that it leaves behind are stopped, so that the end is reported even if a child
	// holds the output open. It is not part of the Hash, because older workers could not compute
	// it.
	EndsOnFailure bool
	// GatherMillis makes small output of a stream wait for this many milliseconds after the last
	// piece, so that lines of many ranks come in fewer pieces; 0: no wait. It is not part of the
	// Hash.
	GatherMillis int
	// InOrder says that the launcher writes both outputs in the order of arrival. The worker then
	// need not leave time between pieces of the two. It is not part of the Hash.
	InOrder bool
	// JudgesRanks says that the first process is a launcher that starts ranks, and that its exit
	// code 0 is not believed if a rank fails; see ExitRecord.Failed. It is not part of the Hash.
	JudgesRanks bool
}

// specJSON carries words as bytes: argv and environment need not be UTF-8, and JSON strings would
// silently replace invalid bytes.
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

// MarshalJSON encodes every word as base64. It returns an error if the packed assignments would be
// too long for a worker.
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

// UnmarshalJSON is the inverse of MarshalJSON, except that packed assignments end up in Env.
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

// Hash identifies the spec: create-or-attach refuses the same id with another hash. It guards
// against mistakes, not against attackers, who would have to be the job's own launcher. FNV keeps
// cryptography, including 33 MB of zeroed memory, out of the worker. Packed assignments count as if
// they were in Env. Every word is preceded by its length, so different specs look different, unless
// they differ only in EndsOnFailure, GatherMillis, InOrder or JudgesRanks.
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
