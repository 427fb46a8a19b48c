//go:build linux

package supervise

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

// Running is the user's command, here or as a group on the workers.
type Running interface {
	Done() <-chan struct{}
	Signal(sig syscall.Signal)
	// Stop asks for the end with sig, for a KILL after grace. It returns the number of ranks
	// that are asked; 0: sentences have the command's name. later gets the number if it is not
	// known yet. failed: the command has failed already, and its launcher ends its ranks.
	Stop(sig syscall.Signal, grace time.Duration, failed bool) (number int, later <-chan int)
	// Leave is stop with SIGTERM because that worker was told to stop from outside.
	Leave(worker string, grace time.Duration) (number int, later <-chan int)
}

// Config is what a supervisor works with.
type Config struct {
	Settings config.Config
	Links    *fleet.Links
	Tally    *tally.Tally
	Voice    *console.Voice
	Signals  <-chan os.Signal
	Workers  []rendezvous.Worker
	Pods     <-chan rendezvous.Snapshot // nil without a cluster
	Seen     rendezvous.Snapshot        // the last that was heard of the pods
	Trouble  func(sentence string)      // leaves word of what is wrong; "" takes it back
	// StatusWait is how long the pods' status may take to say why a link is lost.
	StatusWait time.Duration
	// ByHand is what a person types to run a command on a worker.
	ByHand func(worker, command string) string
}

// Supervisor watches the command, the workers and the signals of one attempt. Subject and
// Watches are set before Watch is called, and Findings are read after it has returned.
type Supervisor struct {
	cfg     config.Config
	links   *fleet.Links
	tally   *tally.Tally
	voice   *console.Voice
	pods    <-chan rendezvous.Snapshot // nil without a cluster
	signals <-chan os.Signal
	started []rendezvous.Worker
	last    rendezvous.Snapshot
	trouble func(sentence string)
	byHand  func(worker, command string) string
	leaving atomic.Bool // the pod of a worker is being taken away
	members membership  // who takes part

	Subject
	Watches
	Findings
	course
	ailment
	doubts
}

// New returns a supervisor of workers alone, the same all the time; see Enroll.
func New(c Config) *Supervisor {
	s := &Supervisor{cfg: c.Settings, links: c.Links, tally: c.Tally, voice: c.Voice, signals: c.Signals, started: c.Workers, pods: c.Pods, last: c.Seen, trouble: c.Trouble,
		byHand: c.ByHand, doubts: doubts{statusWait: c.StatusWait}}
	s.members = fixed{s}
	s.begin()
	return s
}

// Subject is the command that a supervisor watches, here or as a group on the workers.
type Subject struct {
	Command Running
	Name    string // of the command, for sentences
	// Group: the command is one that notices lost workers, and knows what they
	// mean for it.
	Group  bool
	Spares bool   // it goes on when some of its processes have failed
	What   string // its processes are, for sentences: "rank"; "": rank
	// Starter is the launcher, such as torchrun, that each of the processes is; "": they are ranks.
	Starter string
}

// Watches look at what the command does.
type Watches struct {
	Hang *hang.Watch // nil: nobody looks for hangs
	Rest *Leftover   // what ranks that ended with 0 have left running
	// Progress applies the rules for output lines; nil: there are none.
	Progress   *stall.Watch
	Alone      *command.Alone
	Bystanders *Bystanders // takes the stacks of an mpirun's ranks when one has failed; nil: nobody does
}

// Findings are what is wrong with the command, or was, and what followed from it.
type Findings struct {
	Anew    string         // why we ended the command ourselves, to begin it again; "": we did not
	Hung    string         // why we ended a run that hung, or broke a progress rule
	Stalled *string        // the rank that broke the rule for which we ended it; nil: none did
	Hangs   int            // that were reported
	Blames  []report.Blame // by the ranks' stacks
	Stalls  []report.Stall // progress rules that fired
}

// course is how the command is brought to its end.
type course struct {
	ending    ending
	counted   <-chan int       // gets how many ranks a stop asks, which is then said; nil: nothing is to be said
	goingDown *fleet.GoingDown // the worker for which the command was stopped; nil: none
}

// ailment is what is wrong with the command now.
type ailment struct {
	wrongs    []wrong
	illAt     time.Time        // when the trouble came to light
	announced bool             // it was said
	illnesses map[int]*illness // of a script's mpiruns, by their indices
}

// doubts are workers of which it is not known whether they are lost.
type doubts struct {
	statusWait time.Duration     // how long a pod's status may take to say why a link is lost; 0: there is none
	takenBy    map[string]string // what takes away the pods of workers that are, or have been
	unsure     map[string]suspicion
	warned     map[string]bool
	woken      map[string]time.Time // parked links that were woken, and when they had been parked
}

// suspicion is a worker whose link is lost while its pod's status still has to
// say why.
type suspicion struct {
	lost  verdict.Lost
	since time.Time
}

// Told is the first signal that told us to stop while the command ran; 0: none did.
func (s *Supervisor) Told() int { return s.ending.told }

// ToldAt is when the signal of Told came.
func (s *Supervisor) ToldAt() time.Time { return s.ending.at }

// Over reports whether somebody wants the whole run to end.
func (s *Supervisor) Over() bool { return s.ending.phase.told() || s.ending.phase == phaseOver }

// Asked reports whether we have signalled the command because of what we saw, and not of a
// signal.
func (s *Supervisor) Asked() bool { return s.ending.asked }

// GoesDown reports whether the command was stopped because a worker was told to stop.
func (s *Supervisor) GoesDown() bool { return s.goingDown != nil }

// Leaving reports whether the pod of a worker is being taken away. It may be called while
// Watch runs.
func (s *Supervisor) Leaving() bool { return s.leaving.Load() }

// Seen is the last that was heard of the pods.
func (s *Supervisor) Seen() rendezvous.Snapshot { return s.last }

// Departing are the workers of an elastic run that are leaving.
func (s *Supervisor) Departing() map[string]bool { return s.members.departing() }

// Pardon leaves out of the evidence what the command got over.
func (s *Supervisor) Pardon(e *verdict.Evidence) { s.members.pardon(e) }

// Overrule returns the verdict on an attempt that we ended because of its workers. stopped: its
// processes have ended because of that alone. lost are its workers that are.
func (s *Supervisor) Overrule(stopped bool, lost []verdict.Lost) (v verdict.Verdict, overruled bool) {
	return s.members.overrule(stopped, lost)
}
