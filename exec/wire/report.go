package wire

// What a ReportRecord tells of.
const (
	ReportRanks  = "ranks"  // the session has its first rank; again when one with MPI is found
	ReportFrozen = "frozen" // an MPI daemon has been stopped for HelloRecord.FrozenMillis
	ReportDaemon = "daemon" // an MPI daemon was ended by a signal that was not ours
	ReportRank   = "rank"   // a rank ended with another code than 0
	ReportDone   = "done"   // the first rank of the session to end with 0 has ended; only of one with a number
	ReportHeld   = "held"   // a process has held the output of the session's first process, or of Rank, for 3 s since that ended
	ReportMemory = "memory" // the kernel killed a process of the container for its memory
	// ReportLeaving: the worker was told to stop from outside, and holds daemons of an mpirun until
	// that has been ended; or it has ranks that another launcher has started, or a group's
	// processes. It is of no session.
	ReportLeaving = "leaving"
)

// ReportRecord tells the launcher what happened to a process of a session that
// PID 1 sees and an exit record does not tell: mpirun's daemons leave their
// session's first process behind, and ranks are the daemons' children. Reports
// are sent again on each new connection; Seq counts them from 1 in each worker.
type ReportRecord struct {
	Seq     uint64 `json:"seq"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	PID     int    `json:"pid,omitempty"` // as the worker counts
	Command string `json:"command,omitempty"`
	Rank    string `json:"rank,omitempty"` // its number, as its MPI told it; "" when not known
	MPI     bool   `json:"mpi,omitempty"`  // the rank had an MPI library loaded
	// Code and Signal are as in an ExitRecord.
	Code   int `json:"code,omitempty"`
	Signal int `json:"signal,omitempty"`
	// Unseen is how many ranks of the session have not been seen, by the number of local ranks
	// that a rank's MPI tells, or not to their ends: they may have been too short, or have yet
	// to start.
	Unseen int `json:"unseen,omitempty"`
	// Finished says that every rank that a dead daemon's session is known to have had
	// ended with 0 before the daemon did.
	Finished bool `json:"finished,omitempty"`
	// Millis is how long a frozen daemon had been stopped.
	Millis int64 `json:"millis,omitempty"`
	// AgoMillis is how long before this record was sent a daemon or a rank was seen to
	// have ended. The clocks of two nodes may differ; this does not.
	AgoMillis int64 `json:"agoMillis,omitempty"`
	// GraceMillis is how long after the signal Signal a worker that is leaving kills what lives.
	GraceMillis int64 `json:"graceMillis,omitempty"`
}
