package launch

import (
	"syscall"
	"time"
)

// Budgets for ending a command whose worker is lost: 8 s in all, so that the
// launcher has ended within 10 s of the loss.
const (
	// lostPatience lets mpirun notice by itself, which takes it about 1 s and
	// gives the better message.
	lostPatience = 3 * time.Second
	lostGrace    = 5 * time.Second
)

// step is a signal for the command, due some time after the step before it.
type step struct {
	after  time.Duration
	signal syscall.Signal
}

// ending is how a command is brought to its end: a pure schedule, at most one
// at a time, replaced only by a stricter one.
type ending struct {
	told  int       // the first signal that told us to stop
	at    time.Time // when it came
	lost  bool      // a worker was lost
	ill   bool      // there is trouble of which the command has to notice
	going bool      // a worker is going down, and all ranks have been asked
	steps []step
}

// sameSignal is how soon after the first a second one is an echo of it:
// timeout(1) sends its signal to us and then to the whole process group.
const sameSignal = 200 * time.Millisecond

// onSignal says what follows from a signal: forward it to the command now, and
// whether the schedule changed. TERM and INT mean stop; a second one means at
// once. HUP, QUIT, USR1 and USR2 are the command's own affair.
func (e *ending) onSignal(sig syscall.Signal, grace time.Duration, now time.Time) (forward, changed bool) {
	if sig != syscall.SIGTERM && sig != syscall.SIGINT {
		return true, false
	}
	if e.told != 0 && now.Sub(e.at) < sameSignal {
		return false, false
	}
	if e.told != 0 {
		e.steps = []step{{0, syscall.SIGKILL}}
		return false, true
	}
	e.told, e.at = int(sig), now
	e.steps = []step{{grace, syscall.SIGKILL}}
	return true, true
}

// onLost says whether the loss of a worker changed the schedule.
func (e *ending) onLost(grace time.Duration) (changed bool) {
	if e.lost || e.told != 0 || e.going {
		e.lost = true
		return false
	}
	e.lost = true
	e.steps = []step{{lostPatience, syscall.SIGTERM}, {min(grace, lostGrace), syscall.SIGKILL}}
	return true
}

// hurriedGrace is for an mpirun that, told to stop, waits for daemons which
// cannot answer.
const hurriedGrace = 2 * time.Second

// hurry takes the patience away: a node has been silent for so long that mpirun
// would have noticed if it could.
func (e *ending) hurry() {
	if len(e.steps) == 2 {
		e.steps[0].after = 0
		e.steps[1].after = min(e.steps[1].after, hurriedGrace)
	}
}

// troublePatience is for mpirun to notice by itself that a daemon, a session or
// a rank has ended badly. With the grace and PID 1's looks, the launcher ends
// within 30 s of it.
const troublePatience = 10 * time.Second

// onTrouble says whether trouble within the job changed the schedule.
func (e *ending) onTrouble(patience, grace time.Duration) (changed bool) {
	if e.ill || e.lost || e.told != 0 || e.going {
		return false
	}
	e.ill = true
	e.steps = []step{{patience, syscall.SIGTERM}, {min(grace, lostGrace), syscall.SIGKILL}}
	return true
}

// next takes the step that is due.
func (e *ending) next() (syscall.Signal, bool) {
	if len(e.steps) == 0 {
		return 0, false
	}
	sig := e.steps[0].signal
	e.steps = e.steps[1:]
	return sig, true
}

// wait is the time until the next step; negative when there is none.
func (e *ending) wait() time.Duration {
	if len(e.steps) == 0 {
		return -1
	}
	return e.steps[0].after
}

// onAnew says whether an end that we want, to begin again, changed the schedule.
func (e *ending) onAnew(grace time.Duration) (changed bool) {
	if e.told != 0 || e.lost || e.ill || e.going {
		return false
	}
	e.steps = []step{{0, syscall.SIGTERM}, {grace, syscall.SIGKILL}}
	return true
}

// onGoingDown says whether a worker that is going down changed the schedule. The caller tells
// the command now. The worker is lost later, which changes nothing then.
func (e *ending) onGoingDown(grace time.Duration) (changed bool) {
	if e.told != 0 || e.lost || e.ill || e.going || grace <= 0 || len(e.steps) > 0 {
		return false
	}
	e.going = true
	e.steps = []step{{grace, syscall.SIGKILL}}
	return true
}
