package wire

// Kinds of a ReportRecord.
const (
	ReportRanks  = "ranks"  // the session has its first rank; again when a rank with MPI is found
	ReportFrozen = "frozen" // an MPI daemon has been stopped for HelloRecord.FrozenMillis
	ReportDaemon = "daemon" // an MPI daemon was ended by a signal that was not ours
	ReportRank   = "rank"   // a rank ended with a code other than 0
	ReportDone   = "done"   // the first rank of the session to end with 0 has ended; only for a rank with a number
	ReportHeld   = "held"   // a process has held the output of the session's first process, or of Rank, for 3 s since that ended
	ReportMemory = "memory" // the kernel killed a process of the container for lack of memory
	// ReportLeaving means that the worker was told to stop from outside, and holds daemons of an
	// mpirun until that has ended. Or the worker has ranks that another launcher has started, or
	// processes of a group. The report belongs to no session.
	ReportLeaving = "leaving"
)

// ReportRecord reports an event of a session's process that PID 1 sees and an exit record does not
// contain. mpirun's daemons outlive their session's first process, and ranks are the daemons'
// children. The worker sends reports again on each new connection. Seq numbers them from 1 for each
// worker.
type ReportRecord struct {
	Seq     uint64 `json:"seq"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	PID     int    `json:"pid,omitempty"` // in the worker's PID namespace
	Command string `json:"command,omitempty"`
	Rank    string `json:"rank,omitempty"` // rank number, from its MPI; "" if unknown
	MPI     bool   `json:"mpi,omitempty"`  // the rank had an MPI library loaded
	// Code and Signal are as in an ExitRecord.
	Code   int `json:"code,omitempty"`
	Signal int `json:"signal,omitempty"`
	// Unseen is how many ranks of the session were not seen, or not until their end. The total is
	// the number of local ranks that a rank's MPI reports. An unseen rank was too short-lived or
	// has yet to start.
	Unseen int `json:"unseen,omitempty"`
	// Finished says that every known rank of a dead daemon's session had ended with 0 before the
	// daemon did.
	Finished bool `json:"finished,omitempty"`
	// Millis is how long a frozen daemon had been stopped, in milliseconds.
	Millis int64 `json:"millis,omitempty"`
	// AgoMillis is how long before this record was sent the event was seen, in milliseconds: the
	// end of a daemon or a rank. Unlike a time, it does not depend on the clocks of two nodes.
	AgoMillis int64 `json:"agoMillis,omitempty"`
	// GraceMillis is how long after Signal a leaving worker kills the remaining processes, in
	// milliseconds.
	GraceMillis int64 `json:"graceMillis,omitempty"`
}
