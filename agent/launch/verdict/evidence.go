package verdict

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// Cut is a session that did not end well, and whose agent ended before it.
type Cut struct {
	Worker string
	Moment int // like [Trouble.Moment]
	Launch int
}

// ExitRule says what decides the exit code.
type ExitRule string

// The exit rules; see [Judge].
const (
	ExitAuto    ExitRule = ""        // strict for MPI launchers, else script
	ExitStrict  ExitRule = "strict"  // 0 only if the work was really done
	ExitCommand ExitRule = "command" // the command's own code
	// ExitScript uses the command's own code, except for a 0 that the last mpirun it started
	// contradicts. It is not a value of --exit.
	ExitScript ExitRule = "script"
)

// Trouble is a problem that an MPI job does not recover from, although its mpirun may not notice.
type Trouble struct {
	Worker string // "": of no worker
	What   string // for people, after the worker's name
	Code   int    // the true exit code if there is one, else 0
	Silent bool   // mpirun does not notice it by itself
	Likely int    // how likely it causes the others, see below: lower is likelier
	Moment int    // order in which troubles were noticed: lower is earlier
	Hint   string // the hint, if there is one
	Late   bool   // it came after the worker's ranks had ended with 0
	Launch int    // the index of its mpirun
	Rank   bool   // a rank ended
	Number string // the rank's number; "": unknown
	Proxy  bool   // a daemon of Hydra ended, which mpiexec kills if a rank has failed

	At time.Time // when a daemon or a session ended, by the launcher's clock; zero: unknown
}

// Says returns the trouble in words.
func (t Trouble) Says() string {
	if t.Worker == "" {
		return t.What
	}
	return "worker " + t.Worker + ": " + t.What
}

// The values of Likely order the troubles by cause, the likeliest first. A call for a host that is
// no worker ends a launch before it begins, and takes other daemons along. A failing daemon takes
// its ranks along. A session that fails may be a consequence of an MPI failure elsewhere, so the
// first one counts. The same holds for a rank that is killed, or that aborts because a peer is
// gone. Troubles that were noticed after the command's end have no order.
const (
	OfHost = iota - 1
	OfDaemon
	OfRank
	OfSession
	OfAftermath
)

// RankEnd is the end of a rank with an exit code other than 0.
type RankEnd struct {
	Worker, What string
	Code, Signal int

	Rank   string    // its number; "": unknown
	PID    int       // in its worker's PID namespace
	At     time.Time // by the launcher's clock
	Launch int       // the index of its mpirun
	Unborn bool      // it was not yet known to be a rank, and may have been a helper of its daemon
}

// Killed reports whether mpirun uses this signal to end the other ranks. Other signals come from
// the rank itself.
func Killed(signal int) bool {
	return signal == int(syscall.SIGKILL) || signal == int(syscall.SIGTERM)
}

// Cause returns the first of the likeliest troubles. It returns false if there is none.
func Cause(all []Trouble) (Trouble, bool) {
	if len(all) == 0 {
		return Trouble{}, false
	}
	return slices.MinFunc(all, func(a, b Trouble) int { return a.Likely - b.Likely }), true
}

// Lost is a worker that was lost while the command ran, and the cause.
type Lost struct {
	Worker string `json:"worker"`
	Cause  string `json:"cause"`

	Starved bool `json:"-"` // its container was killed for lack of memory (OOM)
	Leaving bool `json:"-"` // it was told to stop from outside
}

// BadSession is a session that ended badly by itself.
type BadSession struct {
	Worker string // pod name
	Code   int    // its exit code; 128+n for a signal, 255 for a failure of the transport
	What   string // how it ended, for people: "exited with 7", "was killed by signal 9"
}

// Command is what is known about the user's command and its end.
type Command struct {
	Name   string // its base name
	Rule   ExitRule
	Code   int // its own code; 128+n if a signal ended it
	Signal int // the signal that ended it; 0: it exited, perhaps with 128+n
	// Inquiry means that it was asked for its version or its help, and runs nothing.
	Inquiry bool
	Alone   string // a launcher such as torchrun that it started on this machine; "": none was seen
	Group   string // the framework whose process group its script creates; "": none is known
	Start   error  // the error if it could not be started; Code is then 126 or 127
	// Remote means that it is a launcher such as deepspeed, which does all its work on workers.
	Remote bool
}

// Evidence is everything that the verdict depends on.
type Evidence struct {
	Command

	Told  int  // the signal that told the launcher to stop; 0 if none
	Ended bool // Muster ended the command

	Workers  int // remote workers
	Opened   int // sessions opened on them
	Lost     []Lost
	Bad      []BadSession
	Troubles []Trouble // problems inside the job
	Ranks    []RankEnd // ranks that did not end with 0
	Unseen   []string  // workers that may have had ranks that were not seen
	Quiet    []string  // workers whose session ended with 0 while mpirun ran, and where no rank was seen
	Cut      []Cut     // sessions that were cut off when their agents ended
	Starved  []string  // workers where the kernel killed a process for lack of memory (OOM)
	Leaving  []string  // workers that were told to stop from outside

	Launches []LaunchEnd  // the mpiruns that the command is or has started
	Words    []Word       // what these mpiruns said about their ranks
	Own      bool         // the launcher has ranks, which no worker sees
	Starters []StarterEnd // the launchers such as deepspeed that the command is or has started
}

// LaunchEnd is how an mpirun of the command ended.
type LaunchEnd struct {
	Name         string
	Code, Signal int  // of the process; 0 if unknown
	Passed       bool // the command has started another one since
	Stopped      bool // Muster ended it, because its job could not end well

	Began time.Time // when it asked for its first session
}

// JudgeSession says how a session ended badly. ok is true if it ended well, or if Muster ended it.
func JudgeSession(worker string, code, signal int, reason, startError string) (b BadSession, ok bool) {
	if code == 0 && startError == "" || reason == "stopped" {
		return BadSession{}, true
	}
	b = BadSession{Worker: worker, Code: code}
	switch {
	case startError != "":
		b.What = "could not be started: " + startError
	case reason != "":
		b.What = "was ended: " + reason
	case signal != 0:
		b.What = "was killed by " + phrase.SignalName(signal)
	default:
		b.What = fmt.Sprintf("exited with %d", code)
	}
	return b, false
}

// StarterEnd is how a starter ended, and which of its sessions count as failed.
type StarterEnd struct {
	LaunchEnd
	Bad []BadSession
}
