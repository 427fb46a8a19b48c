package barrier

import "encoding/json"

// Card is what a member tells of itself when it comes, and what the others read
// in the table.
type Card struct {
	Rank      int    `json:"rank"`
	Name      string `json:"name"`              // of its pod
	Host      string `json:"host,omitempty"`    // host name
	Address   string `json:"address,omitempty"` // "": that from which it reaches rank 0
	Slots     int    `json:"slots,omitempty"`
	Interface string `json:"interface,omitempty"` // that holds the address
	NoGPU     bool   `json:"nogpu,omitempty"`     // it has none, for certain
	NoRDMA    bool   `json:"nordma,omitempty"`

	// Instance names this run of the member: a replacement has another one.
	Instance string `json:"instance,omitempty"`
	Size     int    `json:"size,omitempty"` // members, as it was told
	Job      string `json:"job,omitempty"`  // name of its job; "": not known
	// Settings have to be the same everywhere.
	Settings []Setting `json:"settings,omitempty"`
}

// bare tells whether the card can stand in a table: pods' names and addresses can.
func (c Card) bare() bool {
	return bare(c.Name) && bare(c.Host) && bare(c.Address) && bare(c.Interface) && bare(c.Instance)
}

// Setting is something that every member has to be told alike.
type Setting struct{ Name, Value string }

// News is the state of a member, whole.
type News struct {
	// Ready: nothing of an attempt runs here, and it takes part in the next.
	Ready bool `json:"ready,omitempty"`
	// Leaving says why it is about to go; "": it stays.
	Leaving string `json:"leaving,omitempty"`
	// Attempt is the newest that it was told of, Port and Used what was said then;
	// -1: none. A coordinator that is new learns them here.
	Attempt int `json:"attempt"`
	Port    int `json:"port,omitempty"`
	Used    int `json:"used,omitempty"`
	// Work is the caller's own.
	Work json.RawMessage `json:"work,omitempty"`
}

// Phases of a job, as an Order tells them.
const (
	PhaseGather = "gather" // whatever runs is to be stopped, and readiness told
	PhaseRun    = "run"    // the table is there
	PhaseOver   = "over"   // the job has ended, with Code
)

// Order is what the coordinator tells every member alike.
type Order struct {
	// By is the instance of the coordinator: another one knows nothing of what the
	// last one said. Tell sets it.
	By      string `json:"by"`
	Phase   string `json:"phase"`
	Attempt int    `json:"attempt"` // that gathers, runs or ran
	Port    int    `json:"port,omitempty"`
	Used    int    `json:"used,omitempty"` // restarts
	Table   Table  `json:"table,omitempty"`
	// Absent are those for whom is waited, the first few, More how many there are besides.
	Absent []Absent `json:"absent,omitempty"`
	More   int      `json:"more,omitempty"`
	Code   int      `json:"code,omitempty"`
	// Why is for people: what ended an attempt, or the job; Hint what to do.
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"`
	// Past is the caller's own, about the attempts before.
	Past json.RawMessage `json:"past,omitempty"`
}

// Refusal ends a member that does not fit the others.
type Refusal struct {
	Code int    `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

func (r *Refusal) Error() string { return r.Text }
