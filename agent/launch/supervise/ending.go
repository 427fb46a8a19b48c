package supervise

import (
	"syscall"
	"time"
)

// phase records whether the command is brought to its end, and why. Each phase has its own schedule of
// signals, and gives way only to a stricter phase:
//
//	runs ----- restart -----> restart
//	  |                          |
//	  +------ trouble, hang -----+--> ill
//	  |                          |     |
//	  +------ worker lost -------+-----+--> lost
//	  |
//	  +------ worker going --> going -- hang --> goingIll
//	                             |                  |
//	                             +-- worker lost ---+--> goingLost *
//
//	runs, restart, going -- signal --> told -----+
//	ill, goingIll --------- signal --> toldIll --+-- worker lost --> toldLost *
//	lost, goingLost ------- signal --------------------------------> toldLost
//
//	all without a signal -- signal after the command's own end --> over
//
// A phase marked * keeps the schedule of the previous phase. A second signal in told, toldIll or
// toldLost kills at once. Any other event changes nothing.
type phase int

const (
	phaseRuns      phase = iota
	phaseRestart         // we end the command, for a restart or because there are too few workers
	phaseIll             // there is trouble that the command must notice, or it hangs
	phaseLost            // a worker was lost
	phaseGoing           // a worker is going down, and all ranks have been asked to end
	phaseGoingIll        // as phaseGoing, and then the command hung
	phaseGoingLost       // as phaseGoing, and then that worker or another one was lost
	phaseTold            // a signal told us to stop
	phaseToldIll         // as phaseTold, but there was already trouble
	phaseToldLost        // as phaseTold, and a worker was lost before or after
	phaseOver            // a signal came after the command had ended by itself, or no worker came in time
)

// turn is something that may change the phase.
type turn int

const (
	eventStop     turn = iota // SIGTERM or SIGINT while the command runs
	eventLost                 // a worker is lost
	eventTrouble              // a daemon, a session or a rank has ended badly
	eventHang                 // a hang, a broken progress rule, or ranks that outlast others
	eventRestart              // we want the command to end
	eventGoing                // a worker was told to stop from outside
	eventStopLate             // SIGTERM or SIGINT after the command's end, or no worker came in time
)

// transition returns the phase after an event. reschedule reports whether the event from now on
// decides when the command gets which signal.
func (p phase) transition(e turn) (next phase, reschedule bool) {
	switch e {
	case eventStop:
		return p.afterStop(), p != phaseOver
	case eventLost:
		return p.afterLoss()
	case eventTrouble, eventHang:
		switch {
		case p == phaseRuns, p == phaseRestart:
			return phaseIll, true
		case p == phaseGoing && e == eventHang:
			return phaseGoingIll, true
		}
	case eventRestart:
		if p == phaseRuns || p == phaseRestart {
			return phaseRestart, true
		}
	case eventGoing:
		if p == phaseRuns {
			return phaseGoing, true
		}
	case eventStopLate:
		if !p.told() {
			return phaseOver, false
		}
	}
	return p, false
}

func (p phase) afterStop() phase {
	switch p {
	case phaseRuns, phaseRestart, phaseGoing:
		return phaseTold
	case phaseIll, phaseGoingIll:
		return phaseToldIll
	case phaseLost, phaseGoingLost:
		return phaseToldLost
	}
	return p
}

func (p phase) afterLoss() (next phase, reschedule bool) {
	switch p {
	case phaseRuns, phaseRestart, phaseIll:
		return phaseLost, true
	case phaseGoing, phaseGoingIll:
		return phaseGoingLost, false
	case phaseTold, phaseToldIll:
		return phaseToldLost, false
	}
	return p, false
}

// told reports whether a signal told us to stop.
func (p phase) told() bool { return p == phaseTold || p == phaseToldIll || p == phaseToldLost }

// lost reports whether a worker was lost.
func (p phase) lost() bool { return p == phaseLost || p == phaseGoingLost || p == phaseToldLost }

// ill reports whether there is trouble or a hang, and nothing worse.
func (p phase) ill() bool { return p == phaseIll || p == phaseGoingIll || p == phaseToldIll }

// going reports whether all ranks have been asked to end because a worker is going down.
func (p phase) going() bool {
	return p == phaseGoing || p == phaseGoingIll || p == phaseGoingLost
}

// ends reports whether a signal, a lost worker, trouble or a hang ends the command.
func (p phase) ends() bool { return p.told() || p.lost() || p.ill() }

// stops reports whether the command is being stopped, for whatever reason. Ranks may save then, so how
// they go on is no longer judged by rules that would stop them.
func (p phase) stops() bool { return p != phaseRuns }

// The time for ending a command whose worker is lost is 8 s in all, so that the launcher ends
// within 10 s of the loss.
const (
	// lostPatience lets mpirun notice by itself. This takes mpirun about 1 s, and gives a better
	// message.
	lostPatience = 3 * time.Second
	LostGrace    = 5 * time.Second
)

// step is a signal for the command, due some time after the previous step.
type step struct {
	after  time.Duration
	signal syscall.Signal
}

// ending is how a command is brought to its end: a phase and its schedule.
type ending struct {
	phase phase
	told  int       // the first signal that told us to stop; 0: none
	at    time.Time // when it came
	asked bool      // we have signaled the command before any signal told us to stop
	steps []step
}

// SameSignal is how soon after the first signal a second one is only its echo: timeout(1) signals
// the launcher and then the whole process group.
const SameSignal = 200 * time.Millisecond

// enter handles an event. steps replace the schedule if the event decides it.
func (e *ending) enter(ev turn, steps ...step) (changed bool) {
	e.phase, changed = e.phase.transition(ev)
	if changed {
		e.steps = steps
	}
	return changed
}

// onSignal handles a signal. forward says to pass the signal on to the command now, and changed
// that the schedule changed. TERM and INT mean stop, and a second one means at once. HUP, QUIT,
// USR1 and USR2 are only forwarded.
func (e *ending) onSignal(sig syscall.Signal, grace time.Duration, now time.Time) (forward, changed bool) {
	switch {
	case sig != syscall.SIGTERM && sig != syscall.SIGINT:
		return true, false
	case !e.phase.told():
		e.told, e.at = int(sig), now
		return true, e.enter(eventStop, step{grace, syscall.SIGKILL})
	case now.Sub(e.at) < SameSignal:
		return false, false
	}
	return false, e.enter(eventStop, step{0, syscall.SIGKILL})
}

// onLost reports whether the loss of a worker changed the schedule.
func (e *ending) onLost(grace time.Duration) (changed bool) {
	return e.enter(eventLost, step{lostPatience, syscall.SIGTERM}, step{min(grace, LostGrace), syscall.SIGKILL})
}

// hurriedGrace is the grace of an mpirun that was told to stop and waits for daemons that cannot
// answer.
const hurriedGrace = 2 * time.Second

// hurry removes the patience. A node has been silent for so long that mpirun would have noticed if
// it could.
func (e *ending) hurry() {
	if len(e.steps) == 2 {
		e.steps[0].after = 0
		e.steps[1].after = min(e.steps[1].after, hurriedGrace)
	}
}

// troublePatience is how long mpirun may take to notice by itself that a daemon, a session or a
// rank has ended badly. Including the grace and the scans of PID 1, the launcher ends within 30 s
// of it.
const troublePatience = 10 * time.Second

// onTrouble reports whether trouble within the job changed the schedule.
func (e *ending) onTrouble(patience, grace time.Duration) (changed bool) {
	return e.enter(eventTrouble, step{patience, syscall.SIGTERM}, step{min(grace, LostGrace), syscall.SIGKILL})
}

// onHang reports whether a hang that ends the run changed the schedule.
func (e *ending) onHang(grace time.Duration) (changed bool) {
	return e.enter(eventHang, step{0, syscall.SIGTERM}, step{grace, syscall.SIGKILL})
}

// onRestart reports whether ending the command for another attempt changed the schedule.
func (e *ending) onRestart(grace time.Duration) (changed bool) {
	return e.enter(eventRestart, step{0, syscall.SIGTERM}, step{grace, syscall.SIGKILL})
}

// onGoingDown reports whether a worker that is going down changed the schedule. The caller signals
// the command now. The later loss of the worker then changes nothing.
func (e *ending) onGoingDown(grace time.Duration) (changed bool) {
	if grace <= 0 || !e.enter(eventGoing, step{grace, syscall.SIGKILL}) {
		return false
	}
	e.asked = true
	return true
}

// onStopLate handles a signal that comes after the command has ended by itself.
func (e *ending) onStopLate() { e.enter(eventStopLate) }

// next takes the step that is due.
func (e *ending) next() (syscall.Signal, bool) {
	if len(e.steps) == 0 {
		return 0, false
	}
	sig := e.steps[0].signal
	e.steps = e.steps[1:]
	e.asked = e.asked || !e.phase.told()
	return sig, true
}

// wait returns the time until the next step, or a negative value if there is none.
func (e *ending) wait() time.Duration {
	if len(e.steps) == 0 {
		return -1
	}
	return e.steps[0].after
}
