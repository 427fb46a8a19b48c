//go:build linux

package launch

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/hang"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/rendezvous"
)

// running is the user's command, here or as a group on the workers.
type running interface {
	Done() <-chan struct{}
	Signal(sig syscall.Signal)
	// Stop asks for the end with sig, for a KILL after grace. It returns the number of ranks
	// that are asked; 0: sentences have the command's name. later gets the number if it is not
	// known yet. failed: the command has failed already, and its launcher ends its ranks.
	Stop(sig syscall.Signal, grace time.Duration, failed bool) (number int, later <-chan int)
	// Leave is stop with SIGTERM because that worker was told to stop from outside.
	Leave(worker string, grace time.Duration) (number int, later <-chan int)
}

// supervisor watches the command, the workers and the signals of one run.
type supervisor struct {
	cfg     config.Config
	links   *fleet.Links
	tally   *tally.Tally
	voice   *console.Voice
	pods    <-chan rendezvous.Snapshot // nil without a cluster
	signals <-chan os.Signal
	started []rendezvous.Worker
	last    rendezvous.Snapshot
	trouble func(sentence string)
	leaving atomic.Bool // the pod of a worker is being taken away
	members membership  // who takes part

	subject
	watches
	course
	findings
	doubts
}

// subject is the command that a supervisor watches, here or as a group on the workers.
type subject struct {
	cmd  running
	name string // of the command, for sentences
	// group: the command is one that notices lost workers, and knows what they
	// mean for it.
	group  bool
	spares bool   // it goes on when some of its processes have failed
	what   string // its processes are, for sentences: "rank"; "": rank
	// starter is the launcher, such as torchrun, that each of the processes is; "": they are ranks.
	starter string
}

// watches look at what the command does.
type watches struct {
	hang *hang.Watch // nil: nobody looks for hangs
	rest *leftover   // what ranks that ended with 0 have left running
	// progress applies the rules for output lines; nil: there are none.
	progress *stall.Watch
	alone    *command.Alone
	bystand  *bystanders // takes the stacks of an mpirun's ranks when one has failed; nil: nobody does
}

// course is how the command is brought to its end, and why.
type course struct {
	ending    ending
	counted   <-chan int       // gets how many ranks a stop asks, which is then said; nil: nothing is to be said
	anew      string           // why we ended the command ourselves, to begin it again; "": we did not
	goingDown *fleet.GoingDown // the worker for which the command was stopped; nil: none
}

// findings are what is wrong with the command, or was.
type findings struct {
	hung    string         // why we ended a run that hung, or broke a progress rule
	stalled *string        // the rank that broke the rule for which we ended it; nil: none did
	hangs   int            // that were reported
	blames  []report.Blame // by the ranks' stacks
	stalls  []report.Stall // progress rules that fired
	wrongs  []wrong        // what is wrong with the run now
	// illAt is when the trouble came to light; announced: it was said.
	illAt     time.Time
	announced bool
	illnesses map[int]*illness // of a script's mpiruns, by their indices
}

// doubts are workers of which it is not known whether they are lost.
type doubts struct {
	takenBy map[string]string // what takes away the pods of workers that are, or have been
	unsure  map[string]suspicion
	warned  map[string]bool
	woken   map[string]time.Time // parked links that were woken, and when they had been parked
}

// suspicion is a worker whose link is lost while its pod's status still has to
// say why.
type suspicion struct {
	lost  verdict.Lost
	since time.Time
}
