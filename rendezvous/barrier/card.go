package barrier

import "encoding/json"

// Card is what a member reports about itself when it connects, and what the others read in the
// table.
type Card struct {
	Rank      int    `json:"rank"`
	Name      string `json:"name"`              // name of its pod
	Host      string `json:"host,omitempty"`    // host name
	Address   string `json:"address,omitempty"` // "": the address from which it connects to rank 0
	Slots     int    `json:"slots,omitempty"`
	Interface string `json:"interface,omitempty"` // network interface with the address
	NoGPU     bool   `json:"nogpu,omitempty"`     // it certainly has no GPU
	NoRDMA    bool   `json:"nordma,omitempty"`

	// Instance identifies this run of the member; a replacement has another one.
	Instance string `json:"instance,omitempty"`
	Size     int    `json:"size,omitempty"` // number of members, as this member was told
	Job      string `json:"job,omitempty"`  // name of its job; "" if not known
	// Settings must be the same on every member.
	Settings []Setting `json:"settings,omitempty"`
}

// bare reports whether the card can be a line of a table. Names and addresses of pods can.
func (c Card) bare() bool {
	return bare(c.Name) && bare(c.Host) && bare(c.Address) && bare(c.Interface) && bare(c.Instance)
}

// Setting is a setting that every member must share.
type Setting struct{ Name, Value string }

// News is the complete state of a member.
type News struct {
	// Ready means that no process of an attempt runs on this member, and that it takes part in the
	// next attempt.
	Ready bool `json:"ready,omitempty"`
	// Leaving is the reason why it is about to go; "" if it stays.
	Leaving string `json:"leaving,omitempty"`
	// Attempt is the newest attempt that the member knows, with its Port and Used; -1 if none. A
	// new coordinator learns them here.
	Attempt int `json:"attempt"`
	Port    int `json:"port,omitempty"`
	Used    int `json:"used,omitempty"`
	// Work belongs to the caller.
	Work json.RawMessage `json:"work,omitempty"`
}

// Phases of a job in an Order.
const (
	PhaseGather = "gather" // running processes must be stopped, then readiness reported
	PhaseRun    = "run"    // the table is valid
	PhaseOver   = "over"   // the job has ended, with Code
)

// Order is what the coordinator tells every member.
type Order struct {
	// By is the instance of the coordinator. Another coordinator does not know what the last one
	// said. Tell sets By.
	By      string `json:"by"`
	Phase   string `json:"phase"`
	Attempt int    `json:"attempt"` // the attempt of the phase
	Port    int    `json:"port,omitempty"`
	Used    int    `json:"used,omitempty"` // restarts used up
	Table   Packed `json:"table,omitempty"`
	// Absent lists the first few members that are missing. More is the number of further ones.
	Absent []Absent `json:"absent,omitempty"`
	More   int      `json:"more,omitempty"`
	Code   int      `json:"code,omitempty"`
	// Why says for people what ended an attempt or the job. Hint says what to do.
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"`
	// Past belongs to the caller. It is about earlier attempts.
	Past json.RawMessage `json:"past,omitempty"`
}

// Refusal is the reason why a member that does not fit the others must end.
type Refusal struct {
	Code int    `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

func (r *Refusal) Error() string { return r.Text }
