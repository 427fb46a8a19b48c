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
	"github.com/musterhq/muster/agent/launch/network"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/report"

	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/rendezvous"
)

// Running is the user's command, in the launcher or as a group on the workers.
type Running interface {
	// Done returns a channel that is closed when the command has ended.
	Done() <-chan struct{}
	// Signal passes a signal on to the command.
	Signal(sig syscall.Signal)
	// Stop asks the command to end with sig; a KILL follows after grace. It returns the number of
	// ranks that are asked. If number is 0, messages have the command's name instead. later gets
	// the number if it is not known yet. failed means that the command has already failed, so that
	// its launcher ends its ranks.
	Stop(sig syscall.Signal, grace time.Duration, failed bool) (number int, later <-chan int)
	// Leave is Stop with SIGTERM because this worker was told to stop from outside.
	Leave(worker string, grace time.Duration) (number int, later <-chan int)
}

// Config holds what a supervisor works with.
type Config struct {
	Settings config.Config
	Links    *fleet.Links
	Tally    *tally.Tally
	Voice    *console.Voice
	Record   *record.Log // nil: record nothing
	Signals  <-chan os.Signal
	Workers  []rendezvous.Worker
	Pods     <-chan rendezvous.Snapshot // nil without a cluster
	Seen     rendezvous.Snapshot        // the latest snapshot of the pods
	Trouble  func(sentence string)      // saves a sentence about what is wrong; "" removes it
	// StatusWait is how long the pods' status may take to explain a lost link.
	StatusWait time.Duration
	// ByHand returns the line that a user types to run a command on a worker.
	ByHand func(worker, command string) string
}

// Supervisor watches the command, the workers and the signals of one attempt. Set Subject and
// Watches before calling Watch, and read Findings after it has returned.
type Supervisor struct {
	cfg        config.Config
	links      *fleet.Links
	tally      *tally.Tally
	voice      *console.Voice
	record     *record.Log
	pods       <-chan rendezvous.Snapshot // nil without a cluster
	signals    <-chan os.Signal
	started    []rendezvous.Worker // participants, including workers that are leaving
	last       rendezvous.Snapshot
	trouble    func(sentence string)
	byHand     func(worker, command string) string
	leaving    atomic.Bool // the pod of a worker is being taken away
	membership membership  // who takes part

	Subject
	Watches
	Findings
	course
	ailment
	doubts
}

// New returns a supervisor of workers without a command. The workers stay the same; see Enroll.
func New(c Config) *Supervisor {
	s := &Supervisor{cfg: c.Settings, links: c.Links, tally: c.Tally, voice: c.Voice, record: c.Record, signals: c.Signals, started: c.Workers, pods: c.Pods, last: c.Seen, trouble: c.Trouble,
		byHand: c.ByHand, doubts: doubts{statusWait: c.StatusWait}}
	s.membership = fixed{s}
	s.begin()
	return s
}

// Subject is the command that a supervisor watches, in the launcher or as a group on the workers.
type Subject struct {
	Command Running
	Name    string // of the command, for messages
	// Group means that the command notices lost workers itself, and knows what they mean for it.
	Group  bool
	Spares bool   // it continues when some of its processes have failed
	What   string // what messages call its processes; "": rank
	// Starter is the launcher, such as torchrun, that each of the processes runs; "": they are
	// ranks.
	Starter string
}

// Watches look at what the command does.
type Watches struct {
	Hang *hang.Watch // nil: no hang watch
	Rest *Leftover   // what ranks that ended with 0 have left running
	// Progress applies the rules for output lines; nil: there are none.
	Progress *stall.Watch
	Living   *Living        // finds out whether ranks still run; nil: the rules learn of each end
	Slow     *Slow          // finds out where stragglers run; nil: stragglers are not named
	Network  *network.Watch // notices that NCCL falls back to sockets; nil: RDMA was not asked for
	Alone    *command.Alone
	// Spare opens links to spares that come while the attempt runs; nil: the run has no spares.
	Spare func(shot rendezvous.Snapshot)
	// Resizes tells about workers that are resized in place; nil without a cluster.
	Resizes    *fleet.Resizes
	Bystanders *Bystanders // takes the stacks of an mpirun's ranks after one has failed; nil: none are taken
}

// Findings say what is or was wrong with the command, and what followed from it.
type Findings struct {
	RestartFor string         // why we ended the command ourselves, to restart it; "": we did not
	Hung       string         // why we ended a run that hung, or that broke a progress rule
	Stalled    *string        // the rank that broke the rule for which we ended the run; nil: none did
	Guilty     bool           // Stalled is the rank at fault, and not only the last one that printed
	Hangs      int            // hangs that were reported
	FellBack   bool           // NCCL fell back to sockets
	Refused    string         // why we ended a run that must use RDMA
	Blames     []report.Blame // from the ranks' stacks
	Stalls     []report.Stall // progress rules that fired
	Stragglers []report.Straggler
}

// course is how the command is brought to its end.
type course struct {
	ending    ending
	counted   <-chan int       // gets how many ranks a stop asks, for a message; nil: no message is due
	recorded  bool             // the beginning of its end was recorded
	goingDown *fleet.GoingDown // the worker for which the command was stopped; nil: none
}

// ailment holds the current problems of the command.
type ailment struct {
	wrongs    []wrong
	stalls    []string         // keys of those by which the command makes no progress
	illAt     time.Time        // when the trouble was noticed
	announced bool             // the user was told
	illnesses map[int]*illness // of a script's mpiruns, by index
}

// doubts holds the workers that may be lost.
type doubts struct {
	statusWait time.Duration     // how long a pod's status may take to explain a lost link; 0: there is no status
	taken      []string          // workers whose pods are being taken away
	takenBy    map[string]string // by worker: what takes its pod away, or took it away
	unsure     map[string]suspicion
	warned     map[string]bool
	woken      map[string]time.Time // parked links that were woken, and when they had been parked
}

// suspicion is a worker whose link is lost, while its pod's status has yet to explain why.
type suspicion struct {
	lost  verdict.Lost
	since time.Time
}

// Told returns the first signal that told us to stop while the command ran; 0 if none did.
func (s *Supervisor) Told() int { return s.ending.told }

// ToldAt returns when the signal of Told came.
func (s *Supervisor) ToldAt() time.Time { return s.ending.at }

// Over reports whether the whole run has to end, without a restart.
func (s *Supervisor) Over() bool {
	return s.ending.phase.told() || s.ending.phase == phaseOver || s.Refused != ""
}

// Asked reports whether we have signaled the command because of what we saw, and not because of a
// signal.
func (s *Supervisor) Asked() bool { return s.ending.asked }

// GoesDown reports whether the command was stopped because a worker was told to stop.
func (s *Supervisor) GoesDown() bool { return s.goingDown != nil }

// Leaving reports whether the pod of a worker is being taken away. It may be called while Watch
// runs.
func (s *Supervisor) Leaving() bool { return s.leaving.Load() }

// Seen returns the latest snapshot of the pods.
func (s *Supervisor) Seen() rendezvous.Snapshot { return s.last }

// Departing returns the workers of an elastic run that are leaving.
func (s *Supervisor) Departing() map[string]bool { return s.membership.departing() }

// Pardon removes from the evidence what the command survived.
func (s *Supervisor) Pardon(e *verdict.Evidence) { s.membership.pardon(e) }

// Overrule returns the verdict about an attempt that we ended because of its workers. stopped means
// that its processes ended only because of that. lost are its lost workers.
func (s *Supervisor) Overrule(stopped bool, lost []verdict.Lost) (v verdict.Verdict, overruled bool) {
	return s.membership.overrule(stopped, lost)
}
