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
	Moment int // as a Trouble's
	Launch int
}

// ExitRule says whose word counts for the exit code.
type ExitRule string

// The rules; see Judge.
const (
	ExitAuto    ExitRule = ""        // strict for mpirun and its like, else script
	ExitStrict  ExitRule = "strict"  // 0 only when the work was really done
	ExitCommand ExitRule = "command" // the command's own code
	// ExitScript is the command's own code, but for a 0 that the last mpirun that it started
	// contradicts. It is not a value of --exit.
	ExitScript ExitRule = "script"
)

// Trouble is something that an MPI job does not get over, though its mpirun may
// not notice.
type Trouble struct {
	Worker string // "": of none
	What   string // for people, after the worker's name
	Code   int    // the true exit code where there is one, else 0
	Silent bool   // mpirun does not notice it by itself
	Likely int    // to be the cause of others, see below: lower first
	Moment int    // what came to light before it has a lower one
	Hint   string // the way out, where there is one
	Late   bool   // it came when the worker's ranks had ended with 0
	Launch int    // the index of its mpirun
	Rank   bool   // a rank ended
	Number string // of that rank; "": not known
	Proxy  bool   // a daemon of Hydra's ended, which mpiexec kills when a rank has failed

	At time.Time // of a daemon's end, by the launcher's clock; zero: not known
}

// Says is the trouble in words.
func (t Trouble) Says() string {
	if t.Worker == "" {
		return t.What
	}
	return "worker " + t.Worker + ": " + t.What
}

// Which trouble is the cause when there are several: a call for a host that is no worker
// ends a launch before it began, and takes other daemons along; what a daemon suffers
// takes ranks along; a session that fails, and a rank that is killed or aborts
// because a peer has gone, may be the end of an MPI that fails elsewhere, so the
// first of these counts; and what came to light after the command's end is in no
// order any more.
const (
	OfHost = iota - 1
	OfDaemon
	OfRank
	OfSession
	OfAftermath
)

// RankEnd is a rank that ended with another code than 0.
type RankEnd struct {
	Worker, What string
	Code, Signal int

	Rank   string    // its number; "": not known
	PID    int       // as its worker counts
	At     time.Time // by the launcher's clock
	Launch int       // the index of its mpirun
	Unborn bool      // it was not yet known to be a rank, and may have been a helper of its daemon's
}

// Killed reports whether a signal is one that mpirun ends the other ranks with; others are a rank's
// own doing.
func Killed(signal int) bool {
	return signal == int(syscall.SIGKILL) || signal == int(syscall.SIGTERM)
}

// Cause picks the first of the likeliest.
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

	Starved bool `json:"-"` // its container was killed for its memory
	Leaving bool `json:"-"` // it was told to go from outside
}

// BadSession is a session that ended badly without our doing.
type BadSession struct {
	Worker string // pod name
	Code   int    // its exit code, 128+n for a signal, 255 for the transport
	What   string // how it ended, for people: "exited with 7", "was killed by signal 9"
}

// Command is what is known of the user's command and its end.
type Command struct {
	Name   string // its base name
	Rule   ExitRule
	Code   int // its own code, 128+n when a signal ended it
	Signal int // the signal that ended it; 0: it exited, be it with 128+n
	// Inquiry: it was asked for its version or its help, and runs nothing.
	Inquiry bool
	Alone   string // a launcher such as torchrun that it started on this machine; "": none was seen
	Group   string // the framework whose process group its script makes; "": none is known to
	Start   error  // it could not be started; Code is 126 or 127 then
	// Remote: it is a launcher such as deepspeed, which has no work but on workers.
	Remote bool
}

// Evidence is all that the verdict depends on.
type Evidence struct {
	Command

	Told  int  // the signal that told us to stop, 0 if none
	Ended bool // we ended the command because a worker was lost

	Workers  int // remote workers
	Opened   int // sessions opened on them
	Lost     []Lost
	Bad      []BadSession
	Troubles []Trouble // of the job's inside
	Ranks    []RankEnd // that did not end with 0
	Unseen   []string  // workers where there may have been ranks that nobody saw
	Quiet    []string  // workers whose session ended with 0 while mpirun ran, and where no rank was seen
	Cut      []Cut     // sessions that their agents did not outlive
	Starved  []string  // workers where the kernel killed a process for its memory
	Leaving  []string  // workers that were told to go from outside

	Launches []LaunchEnd  // the mpiruns that the command is or has started
	Words    []Word       // of these about their ranks
	Own      bool         // the launcher has ranks, which no worker sees
	Starters []StarterEnd // the launchers such as deepspeed that it is or has started
}

// LaunchEnd is how an mpirun of the command ended.
type LaunchEnd struct {
	Name         string
	Code, Signal int  // of the process; 0 where nobody knows
	Passed       bool // the command has started another one since
	Stopped      bool // we ended it, because its job could not end well

	Began time.Time // when it asked for its first session
}

// JudgeSession says how a session ended badly; ok is true when it did not, or
// when we ended it ourselves.
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

// StarterEnd is how a starter ended, and which sessions of it count as failed.
type StarterEnd struct {
	LaunchEnd
	Bad []BadSession
}
