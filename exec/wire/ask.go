package wire

// AskRecord asks PID 1 what the processes of its living sessions do at the
// moment. It is for workers whose WELCOME says that they answer; one question at
// a time is answered.
type AskRecord struct {
	Seq uint64 `json:"seq"` // of the connection, from 1; the answer repeats it
	// Stacks asks for the stacks of the ranks in place of that; only for workers
	// whose WELCOME says that they tell them. Such a question does not keep another
	// one from being answered.
	Stacks bool `json:"stacks,omitempty"`
	// Polls asks for stacks to find ranks that wait in MPI: a worker where a rank has no MPI
	// library signals none. Older workers take the stacks of all.
	Polls bool `json:"polls,omitempty"`
	// Millis is how long the worker may take for stacks.
	Millis int64 `json:"millis,omitempty"`
	// Programs are those of the image that may be asked for stacks which a rank does not
	// tell itself: ProgramsBrief or ProgramsAll; "": none. An older worker asks none.
	Programs string `json:"programs,omitempty"`
	// Flight asks ranks to dump PyTorch's flight recorder as well, if they keep one. It
	// takes them a second or two. An older worker passes over it.
	Flight bool `json:"flight,omitempty"`
	// RAS asks NCCL's RAS service of a rank for the status of the job as well. One worker is
	// enough for a job. An older worker passes over it.
	RAS bool `json:"ras,omitempty"`
	// End asks ranks to end in place of the question. It is for workers whose WELCOME
	// says AsksRanks; any number of these may be under way.
	End *EndRanksRecord `json:"endRanks,omitempty"`
}

// Values of AskRecord.Programs.
const (
	ProgramsBrief = "brief" // those that stop a rank for moments at most: py-spy, eu-stack
	ProgramsAll   = "all"   // gdb as well, which stops a rank for as long as it reads symbols
)

// EndRanksRecord has PID 1 ask the ranks of its sessions to end, and nobody else. Only
// those are asked that handle the signal.
type EndRanksRecord struct {
	// Number is the stop's among those of the launcher: the ranks are asked once for each.
	Number      uint64 `json:"number"`
	Signal      int    `json:"signal"`
	GraceMillis int64  `json:"graceMillis"`
	// Wait is for an answer when the ranks have ended, or the last part of the grace
	// begins. Otherwise it comes when they have been asked.
	Wait bool `json:"wait,omitempty"`
}

// RanksRecord is the answer to an EndRanksRecord.
type RanksRecord struct {
	Asked int          `json:"asked"`
	Ranks []EndingRank `json:"ranks,omitempty"` // of these, as many as fit
	// Living counts the ranks that live still, those that were not asked among them; only
	// of an answer that was waited for.
	Living int `json:"living,omitempty"`
}

// EndingRank is a rank that was asked to end.
type EndingRank struct {
	Rank string `json:"rank,omitempty"` // its number; "": it has none
	// AfterMillis is the time from the signal to the rank's end; of one that lives, up to now.
	AfterMillis int64 `json:"afterMillis,omitempty"`
	// Lives: it has not ended yet. Killed: it got KILL when the grace was over.
	Lives  bool `json:"lives,omitempty"`
	Killed bool `json:"killed,omitempty"`
}

// AnswerRecord answers an AskRecord.
type AnswerRecord struct {
	Seq      uint64          `json:"seq"`
	Sessions []SessionRecord `json:"sessions,omitempty"`
	// Left is how many processes did not fit into the record.
	Left int `json:"left,omitempty"`
	// Ranks answers AskRecord.End.
	Ranks *RanksRecord `json:"ranks,omitempty"`
	// Stacks are some of the stacks that were asked for; More: another ANSWER of the
	// same Seq follows.
	Stacks []StackRecord `json:"stacks,omitempty"`
	More   bool          `json:"more,omitempty"`
	// RAS is what NCCL's RAS service says, in an ANSWER of its own.
	RAS []byte `json:"ras,omitempty"`
}

// StackRecord is where a rank stands.
type StackRecord struct {
	Session string        `json:"session"`
	Process ProcessRecord `json:"process"`
	// MPI: it has an MPI library mapped.
	MPI     bool           `json:"mpi,omitempty"`
	Threads []ThreadRecord `json:"threads,omitempty"` // some of them, the first one first
	// MPICall is the function of MPI that mpi4py calls where the first thread stands, by the
	// text of that line: "Recv". It is known only of an answer to Polls; "": none.
	MPICall string `json:"mpiCall,omitempty"`
	// Returned: the first thread has run Python since the last such answer, so the call that
	// MPICall names is another one.
	Returned bool `json:"returned,omitempty"`
	// MainCPU is the processor time of the first thread in milliseconds, at the time of
	// Process.CPU; only of an answer to Polls.
	MainCPU int64 `json:"mainCPUMillis,omitempty"`
	// Text is what Python's faulthandler wrote, or the process in its name, or the program By:
	// py-spy. Native is in its place what eu-stack or gdb printed. Why is the reason for
	// which there is neither.
	Text   []byte `json:"text,omitempty"`
	Native []byte `json:"native,omitempty"`
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
	// NoTerm: when that was taken no SIGTERM had come, which would have ended the process. It is
	// false if that cannot be told, and of older workers.
	NoTerm bool `json:"noTerm,omitempty"`
	// OnRequest: a program that ProgramsAll allows could tell more.
	OnRequest bool `json:"onRequest,omitempty"`
	// Flight is the dump of its flight recorder; nil: it keeps none, or was not asked.
	Flight *FlightRecord `json:"flight,omitempty"`
}

// FlightRecord is a dump that a rank has made.
type FlightRecord struct {
	Path  string `json:"path"` // on the worker
	Bytes int64  `json:"bytes,omitempty"`
	Why   string `json:"why,omitempty"` // there is no new one
}

// ThreadRecord is a thread of a process.
type ThreadRecord struct {
	Command string `json:"command,omitempty"`
	Call    string `json:"call,omitempty"`
	Waiting string `json:"wchan,omitempty"`
}

// SessionRecord is a session that lives.
type SessionRecord struct {
	ID string `json:"id"`
	// Unread are bytes of its output that the launcher has not acknowledged.
	Unread    uint64          `json:"unread,omitempty"`
	Processes []ProcessRecord `json:"processes,omitempty"`
}

// ProcessRecord is a living process. Of one with several threads call and wait
// are the first one's.
type ProcessRecord struct {
	PID     int    `json:"pid"` // as the worker counts
	Parent  int    `json:"parent"`
	Start   uint64 `json:"start"` // with PID it names a process for ever
	Command string `json:"command"`
	Rank    string `json:"rank,omitempty"`  // its number among the job's, by its environment; "": it has none
	State   string `json:"state"`           // a letter, as in /proc/PID/stat
	Threads int    `json:"threads"`         //
	CPU     int64  `json:"cpuMillis"`       // processor time that it has used
	Moved   int64  `json:"moved,omitempty"` // bytes that it has read and written with read(2), write(2) and their like
	Syscall int    `json:"syscall"`         // that it sits in; -1: none
	Call    string `json:"call,omitempty"`  // its name
	Waiting string `json:"wchan,omitempty"` // the kernel's function that it sleeps in
	// Refused: the kernel did not let the worker see the call.
	Refused bool `json:"refused,omitempty"`
	// Peer is the far end, IP:PORT, of the TCP socket that the call waits for; PeerClosed: it
	// has closed the connection; PeerUnheard: it is to be connected to, and nobody listens there.
	Peer        string `json:"peer,omitempty"`
	PeerClosed  bool   `json:"peerClosed,omitempty"`
	PeerUnheard bool   `json:"peerUnheard,omitempty"`
}
