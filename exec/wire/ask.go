package wire

// AskRecord asks PID 1 what the processes of its running sessions do now. Send it only to workers
// whose WELCOME says Answers. A worker answers one such question at a time.
type AskRecord struct {
	Seq uint64 `json:"seq"` // number within the connection, from 1; the answer repeats it
	// Stacks asks for the stacks of the ranks instead. Send it only to workers whose WELCOME says
	// Stacks. Such a question does not delay the answers to other questions.
	Stacks bool `json:"stacks,omitempty"`
	// Polls asks for stacks to find ranks that wait in MPI. A worker with a rank without an MPI
	// library then signals no rank. Older workers take the stacks of all ranks.
	Polls bool `json:"polls,omitempty"`
	// Millis is how long the worker may take for stacks, in milliseconds.
	Millis int64 `json:"millis,omitempty"`
	// Programs says which programs of the image may provide stacks that a rank does not report
	// itself: ProgramsBrief, ProgramsAll, or "" for none. An older worker uses no programs.
	Programs string `json:"programs,omitempty"`
	// Flight also asks ranks to dump PyTorch's flight recorder, if they have one. This takes them a
	// second or two. An older worker ignores it.
	Flight bool `json:"flight,omitempty"`
	// RAS also asks NCCL's RAS service of a rank for the status of the job. One worker is enough
	// for a job. An older worker ignores it.
	RAS bool `json:"ras,omitempty"`
	// End asks ranks to end, instead of the question. Send it only to workers whose WELCOME says
	// AsksRanks. Any number of these may be pending.
	End *EndRanksRecord `json:"endRanks,omitempty"`
	// Facts, Listen and Dial ask about the worker and its network instead. Send them only to workers
	// whose WELCOME says Checks. Each kind is answered one question at a time.
	Facts  *AskFactsRecord  `json:"facts,omitempty"`
	Listen *AskListenRecord `json:"listen,omitempty"`
	Dial   *AskDialRecord   `json:"dial,omitempty"`
	// Newest is a glob. The question is then only when the newest file that matches it was last
	// written. A relative glob is below the working directory of sessions. Send it only to workers
	// whose WELCOME says Newest.
	Newest string `json:"newest,omitempty"`
}

// Values of AskRecord.Programs.
const (
	ProgramsBrief = "brief" // programs that stop a rank only for moments, if at all: py-spy, eu-stack
	ProgramsAll   = "all"   // also gdb, which stops a rank while it reads symbols
)

// EndRanksRecord makes PID 1 ask only the ranks of its sessions to end. It asks only ranks that
// handle the signal.
type EndRanksRecord struct {
	// Number is the launcher's number of this stop. The ranks are asked once for each number.
	Number      uint64 `json:"number"`
	Signal      int    `json:"signal"`
	GraceMillis int64  `json:"graceMillis"`
	// Wait delays the answer until the ranks have ended, or the last part of the grace begins.
	// Otherwise the answer comes when they have been asked.
	Wait bool `json:"wait,omitempty"`
}

// RanksRecord is the answer to an EndRanksRecord.
type RanksRecord struct {
	Asked int          `json:"asked"`
	Ranks []EndingRank `json:"ranks,omitempty"` // as many of the asked ranks as fit
	// Living counts the ranks that are still alive, including those that were not asked. It is set
	// only with EndRanksRecord.Wait.
	Living int `json:"living,omitempty"`
}

// EndingRank is a rank that was asked to end.
type EndingRank struct {
	Rank string `json:"rank,omitempty"` // rank number; "" if it has none
	// AfterMillis is the time in milliseconds from the signal to the rank's end, or until now if it
	// is still alive.
	AfterMillis int64 `json:"afterMillis,omitempty"`
	// Lives means that the rank has not ended yet. Killed means that it got KILL when the grace was
	// over.
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
	// Stacks are some of the requested stacks. If More is set, another ANSWER with the same Seq
	// follows.
	Stacks []StackRecord `json:"stacks,omitempty"`
	More   bool          `json:"more,omitempty"`
	// RAS is the report of NCCL's RAS service. It has its own ANSWER.
	RAS []byte `json:"ras,omitempty"`
	// Facts answers AskRecord.Facts. Port answers AskRecord.Listen. Pairs answers AskRecord.Dial,
	// with one entry for each peer. Error says why there is no port or no entry.
	Facts *FactsRecord `json:"facts,omitempty"`
	Port  int          `json:"port,omitempty"`
	Pairs []PairRecord `json:"pairs,omitempty"`
	Error string       `json:"error,omitempty"`
	// Newest answers AskRecord.Newest.
	Newest *NewestRecord `json:"newest,omitempty"`
}

// NewestRecord says when the newest of some files was last written.
type NewestRecord struct {
	Seconds int64 `json:"seconds,omitempty"` // since 1970; 0: there is no such file
	Nanos   int64 `json:"nanos,omitempty"`   // within the second
	// Error says why a file could not be looked up.
	Error string `json:"error,omitempty"`
}

// StackRecord is the stack of a rank.
type StackRecord struct {
	Session string        `json:"session"`
	Process ProcessRecord `json:"process"`
	// MPI means that the process has an MPI library mapped.
	MPI     bool           `json:"mpi,omitempty"`
	Threads []ThreadRecord `json:"threads,omitempty"` // some of the threads, the first thread first
	// MPICall is the MPI function that the first thread calls through mpi4py, for example "Recv",
	// or "" if there is none. It comes from the text of the current line. Only answers to Polls
	// have it.
	MPICall string `json:"mpiCall,omitempty"`
	// Returned means that the first thread has run Python since the last such answer, so MPICall is
	// a new call.
	Returned bool `json:"returned,omitempty"`
	// MainCPU is the processor time of the first thread in milliseconds, at the time of
	// Process.CPU. Only answers to Polls have it.
	MainCPU int64 `json:"mainCPUMillis,omitempty"`
	// Text is the output of Python's faulthandler, or of the program named in By, such as py-spy.
	// The process may also have written it instead of faulthandler. Native is the output of
	// eu-stack or gdb instead. Why is the reason if there is neither.
	Text   []byte `json:"text,omitempty"`
	Native []byte `json:"native,omitempty"`
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
	// NoTerm means that the process had not received SIGTERM when the stack was taken, because
	// SIGTERM would have ended it. It is false if that is unknown, and for older workers.
	NoTerm bool `json:"noTerm,omitempty"`
	// OnRequest means that a program allowed only by ProgramsAll could report more.
	OnRequest bool `json:"onRequest,omitempty"`
	// Flight is the dump of the rank's flight recorder, or nil if it has none or was not asked.
	Flight *FlightRecord `json:"flight,omitempty"`
}

// FlightRecord is a dump that a rank has written.
type FlightRecord struct {
	Path  string `json:"path"` // on the worker
	Bytes int64  `json:"bytes,omitempty"`
	Why   string `json:"why,omitempty"` // why there is no new dump
}

// ThreadRecord is a thread of a process.
type ThreadRecord struct {
	Command string `json:"command,omitempty"`
	Call    string `json:"call,omitempty"`
	Waiting string `json:"wchan,omitempty"`
}

// SessionRecord is a running session.
type SessionRecord struct {
	ID string `json:"id"`
	// Unread is the number of bytes of its output that the launcher has not acknowledged.
	Unread    uint64          `json:"unread,omitempty"`
	Processes []ProcessRecord `json:"processes,omitempty"`
}

// ProcessRecord is a running process. If it has several threads, Syscall, Call and Waiting are
// those of the first thread.
type ProcessRecord struct {
	PID     int    `json:"pid"` // in the worker's PID namespace
	Parent  int    `json:"parent"`
	Start   uint64 `json:"start"` // in clock ticks since boot; PID and Start together identify a process forever
	Command string `json:"command"`
	Rank    string `json:"rank,omitempty"` // rank number in the job, from its environment; "" if it has none
	State   string `json:"state"`          // a letter, as in /proc/PID/stat
	Threads int    `json:"threads"`
	CPU     int64  `json:"cpuMillis"`       // processor time used, in milliseconds
	Moved   int64  `json:"moved,omitempty"` // bytes read and written with read(2), write(2) and similar calls
	Syscall int    `json:"syscall"`         // number of its current system call; -1 if none
	Call    string `json:"call,omitempty"`  // name of that system call
	Waiting string `json:"wchan,omitempty"` // kernel function in which it sleeps
	// Refused means that the kernel did not let the worker see the system call.
	Refused bool `json:"refused,omitempty"`
	// Peer is the remote end, IP:PORT, of the TCP socket that the call waits for. PeerClosed means
	// that the remote end has closed the connection. PeerUnheard means that the process is
	// connecting to a port on which nothing listens.
	Peer        string `json:"peer,omitempty"`
	PeerClosed  bool   `json:"peerClosed,omitempty"`
	PeerUnheard bool   `json:"peerUnheard,omitempty"`
}
