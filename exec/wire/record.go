package wire

import (
	"encoding/json"
	"fmt"
)

// HelloRecord opens a connection.
type HelloRecord struct {
	ProtoMin int    `json:"protoMin"`
	ProtoMax int    `json:"protoMax"`
	Version  string `json:"version"`
	Job      string `json:"job,omitempty"`
	Epoch    Epoch  `json:"epoch"`
	// LeaseSeconds is how long the worker keeps sessions without hearing from this launcher.
	LeaseSeconds int `json:"leaseSeconds"`
	// RshAgent is the path that daemons look up on workers. The answer reports whether it can be
	// executed there. Empty: not asked.
	RshAgent string `json:"rshAgent,omitempty"`
	// Reports says that the launcher accepts REPORT. Otherwise the worker sends none.
	Reports bool `json:"reports,omitempty"`
	// FrozenMillis is how long in milliseconds an MPI daemon may be stopped (state T) before it is
	// reported as frozen; 0: forever.
	FrozenMillis int64 `json:"frozenMillis,omitempty"`
	// GraceMillis is the run's --grace in milliseconds, for a worker that is told to stop from
	// outside; 0: the worker's own grace applies.
	GraceMillis int64 `json:"graceMillis,omitempty"`
	// PodGraceMillis is the termination grace period of the worker's pod in milliseconds; 0:
	// unknown. A worker without a configured grace uses it, minus the time that ending takes.
	PodGraceMillis int64 `json:"podGraceMillis,omitempty"`
	// Ask names the variables whose values the launcher wants to know.
	Ask []string `json:"ask,omitempty"`
	// NoStacks says that nobody will ask for stacks, so sessions are not prepared for it.
	NoStacks bool `json:"noStacks,omitempty"`
	// Probe only asks whether the worker serves, and changes nothing. The answer is REFUSE with
	// RefuseProbe or RefuseEnding.
	Probe bool `json:"probe,omitempty"`
}

// WelcomeRecord is the worker's answer to HELLO. It completes the handshake that makes the worker
// ready.
type WelcomeRecord struct {
	Proto   int    `json:"proto"`
	Version string `json:"version"`
	// Instance is new for each start of PID 1. Another value means that the container was restarted
	// and its sessions are gone.
	Instance string `json:"instance"`
	Hostname string `json:"hostname"`
	// Addresses are the first addresses of the worker, without loopback and link-local ones.
	Addresses []string `json:"addresses,omitempty"`
	// Interfaces are the first interfaces that are up and have an address, including loopback.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// NoRDMA says that the worker sees no RDMA device. A worker without it may have one.
	NoRDMA bool `json:"noRDMA,omitempty"`
	// NoGPU says that the worker sees no accelerator device. A worker without it may have one.
	NoGPU bool `json:"noGPU,omitempty"`
	// CPUs is the number of processors that the worker may use. CPUSet lists them in Linux's list
	// form, "0-3,8".
	CPUs   int    `json:"cpus"`
	CPUSet string `json:"cpuSet,omitempty"`
	Slots  int    `json:"slots,omitempty"`
	// RshAgentError says why HelloRecord.RshAgent cannot be executed there.
	RshAgentError string `json:"rshAgentError,omitempty"`
	// Sessions are the ids of the worker's sessions of this epoch.
	Sessions []string `json:"sessions,omitempty"`
	// Reports says that the worker sends REPORT to a launcher that accepts it.
	Reports bool `json:"reports,omitempty"`
	// Env has those variables of HelloRecord.Ask that sessions start with, from the image or the
	// pod. A missing one may be set nevertheless.
	Env map[string]string `json:"env,omitempty"`
	// Answers says that the worker answers ASK.
	Answers bool `json:"answers,omitempty"`
	// Unpacks says that the worker accepts Spec.Packed.
	Unpacks bool `json:"unpacks,omitempty"`
	// Stacks says that the worker reports the stacks of ranks.
	Stacks bool `json:"stacks,omitempty"`
	// AsksRanks says that the worker accepts AskRecord.End.
	AsksRanks bool `json:"asksRanks,omitempty"`
	// Checks says that the worker answers AskRecord.Facts, Listen and Dial.
	Checks bool `json:"checks,omitempty"`
	// Replaces says that the worker knows EndRecord.Replace.
	Replaces bool `json:"replaces,omitempty"`
	// Newest says that the worker knows AskRecord.Newest.
	Newest bool `json:"newest,omitempty"`
}

// Interface is a network interface of a worker.
type Interface struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"` // without prefix lengths
}

// Reasons of a RefuseRecord.
const (
	RefuseVersion    = "version"    // no common protocol
	RefuseSuperseded = "superseded" // a launcher with a higher epoch holds the worker
	RefuseJob        = "job"        // the worker belongs to another job
	RefuseEnding     = "ending"     // the worker is going down
	RefuseProbe      = "probe"      // HELLO only asked whether the worker serves: it does
	RefusePeer       = "peer"       // the peer descends from the worker, or is not the launcher that it has proved to be
)

// RefuseRecord says why the worker refuses the connection. It does not contain the holder's epoch,
// because a peer could use that to impersonate the holder. An older version used the field name
// "epoch" for it, so that name must not be used again.
type RefuseRecord struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	ProtoMin int    `json:"protoMin"`
	ProtoMax int    `json:"protoMax"`
	Version  string `json:"version"`
}

// OpenRecord creates session ID, or attaches to it: the same id never starts twice. Stdout and
// Stderr are the offsets up to which the launcher has received. Attach forbids creation, because
// the worker had confirmed the session.
type OpenRecord struct {
	ID     string `json:"id"`
	Hash   string `json:"hash"`
	Attach bool   `json:"attach,omitempty"`
	Spec   *Spec  `json:"spec,omitempty"`
	Stdout uint64 `json:"stdout,omitempty"`
	Stderr uint64 `json:"stderr,omitempty"`
}

// Errors of an OpenedRecord.
const (
	OpenUnknown  = "unknown"  // attach to a session that the worker does not have
	OpenMismatch = "mismatch" // the id is in use with another spec
	OpenEnding   = "ending"   // the worker accepts no new sessions any longer
)

// OpenedRecord confirms a session. Stdin is the offset up to which the worker has received. Control
// is the highest control number that it has carried out.
type OpenedRecord struct {
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	Created bool   `json:"created,omitempty"`
	Stdin   uint64 `json:"stdin,omitempty"`
	Control uint64 `json:"control,omitempty"`
}

// ControlRecord is carried out at most once per Seq, in order. Signal goes to the session's first
// process and its group. Stop ends every process of the session: TERM, and KILL after GraceMillis
// milliseconds.
type ControlRecord struct {
	Seq         uint64 `json:"seq"`
	Signal      int    `json:"signal,omitempty"`
	Stop        bool   `json:"stop,omitempty"`
	GraceMillis int64  `json:"graceMillis,omitempty"`
}

// ForgetRecord allows the worker to drop what it keeps of the session. A running session is
// stopped.
type ForgetRecord struct {
	ID string `json:"id"`
}

// ParkRecord announces that the launcher closes the link on purpose. All sessions are detached, and
// live on for LeaseSeconds.
type ParkRecord struct {
	LeaseSeconds int `json:"leaseSeconds"`
}

// EndRecord ends the job on this worker. Everything is stopped (TERM, KILL after GraceMillis
// milliseconds) and PID 1 exits 0, unless Keep is set.
type EndRecord struct {
	Keep        bool  `json:"keep,omitempty"`
	GraceMillis int64 `json:"graceMillis"`
	// Replace makes PID 1 exit with names.ExitReplaced instead of 0, so that a controller makes
	// another pod. Send it only to workers whose WELCOME says Replaces.
	Replace bool `json:"replace,omitempty"`
	// Why says, with Replace, why the worker is given up: names.WhyPreflight or names.WhyDevice. Other
	// words are ignored.
	Why string `json:"why,omitempty"`
}

// Reasons of an ExitRecord whose processes Muster has stopped.
const (
	ReasonStopped    = "stopped"    // the launcher asked for it
	ReasonLease      = "lease"      // the lease expired without a launcher
	ReasonPreempted  = "preempted"  // the worker was told to stop from outside
	ReasonSuperseded = "superseded" // a newer launcher took the worker
	// ReasonFailed says that the worker could not accept connections any longer.
	ReasonFailed = "worker-failed"
)

// ExitRecord ends a session. A session has succeeded or failed only with this record, and with
// every byte up to its totals.
type ExitRecord struct {
	// Code is the exit code of the first process: 128+Signal if a signal ended it, 126 or 127 with
	// Error if it could not be started.
	Code   int  `json:"code"`
	Signal int  `json:"signal,omitempty"`
	Core   bool `json:"core,omitempty"`
	// Reason is one of the Reason constants, or empty if the process ended by itself.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	// Detached means that the first process ended and other processes of the session live on.
	Detached bool `json:"detached,omitempty"`
	// OOM is how many processes of the container the kernel killed for lack of memory while the
	// session ran. They may belong to other sessions.
	OOM int `json:"oom,omitempty"`
	// EndedMillis is when the first process ended, by the worker's clock, in Unix milliseconds; 0:
	// not reported.
	EndedMillis int64  `json:"endedMillis,omitempty"`
	Stdout      uint64 `json:"stdout"` // total bytes
	Stderr      uint64 `json:"stderr"`
	// Unseen is as in a ReportRecord.
	Unseen int `json:"unseen,omitempty"`
	// Asked are the ranks of the session that a stop has asked to end, as many as fit.
	Asked []EndingRank `json:"asked,omitempty"`
	// Failed is a rank that failed below a first process that exited with 0, or nil for none. Only
	// specs with JudgesRanks have it.
	Failed *RankRecord `json:"failed,omitempty"`
}

// RankRecord says how a rank ended. Code and Signal are as in an ExitRecord.
type RankRecord struct {
	Rank    string `json:"rank"`    // rank number
	Command string `json:"command"` // its name and process id
	Code    int    `json:"code"`
	Signal  int    `json:"signal,omitempty"`
}

// Record encodes v as the payload of a frame. It returns an error wrapping ErrProtocol if the
// record is too long for its type.
func Record(t Type, channel uint32, v any) (Frame, error) {
	p, err := json.Marshal(v)
	if err != nil {
		return Frame{}, fmt.Errorf("encode record: %w", err)
	}
	if len(p) > t.limit() {
		return Frame{}, fmt.Errorf("%w: record of %d bytes, limit %d", ErrProtocol, len(p), t.limit())
	}
	return Frame{Type: t, Channel: channel, Payload: p}, nil
}

// Decode decodes the record in f into v. Errors wrap ErrProtocol.
func (f Frame) Decode(v any) error {
	if err := json.Unmarshal(f.Payload, v); err != nil {
		return fmt.Errorf("%w: record of frame type %d: %w", ErrProtocol, f.Type, err)
	}
	return nil
}
