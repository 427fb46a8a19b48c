package tally

import (
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// Launcher is the process of an mpirun or a similar launcher.
type Launcher interface {
	// Name returns the name of the process, for messages.
	Name() string
	// Is reports whether both are the same process.
	Is(other Launcher) bool
	// Ended reports whether the process has ended.
	Ended() bool
	// Exit returns the exit code and the signal. known is false while the process runs, or if the
	// kernel does not report them.
	Exit() (code, signal int, known bool)
	// Kill sends KILL to the process, if it still runs.
	Kill()
	// Close releases the process, which may still run.
	Close()
}

// launched is an mpirun that the command is or has started, and what is known about its job. A
// script may start several mpiruns.
type launched struct {
	proc     Launcher
	began    time.Time // when it asked for its first session
	passed   bool      // the command has started another one after this one ended
	stopped  bool      // Muster told it to end
	hasRanks bool      // some of its sessions have had ranks
	hasMPI   bool      // some of its ranks use MPI
	// over is when its end was noticed. It is zero while the mpirun runs, and for the sessions that
	// no mpirun asked for.
	over time.Time
}

// until returns the time until which it has run. This is now if it still runs.
func (l *launched) until(now time.Time) time.Time {
	if l.over.IsZero() {
		return now
	}
	return l.over
}

// noteEnds records which mpiruns have ended since the last call.
func (j *job) noteEnds(now time.Time) {
	for _, l := range j.launches[1:] {
		if l.over.IsZero() && l.proc.Ended() {
			l.over = now
		}
	}
}

// launchOf returns the index of an mpirun, or 0 for no mpirun. A new mpirun shows that the command
// has gone on from the mpiruns that ended before.
func (j *job) launchOf(by Launcher, now time.Time) int {
	if by == nil {
		return 0
	}
	for i, l := range j.launches {
		if i > 0 && l.proc.Is(by) {
			by.Close()
			return i
		}
	}
	j.goOn()
	j.launches = append(j.launches, &launched{proc: by, began: now})
	return len(j.launches) - 1
}

// goOn records that the command has gone on from the mpiruns and starters that have ended.
func (j *job) goOn() {
	for _, l := range j.launches[1:] {
		l.passed = l.passed || l.proc.Ended()
	}
	for _, s := range j.starters {
		s.passed = s.passed || s.proc.Ended()
	}
}

// ends lists how the mpiruns ended, in the order of their starts.
func (j *job) ends() (list []verdict.LaunchEnd) {
	for _, l := range j.launches[1:] {
		list = append(list, l.end())
	}
	return list
}

func (l *launched) end() verdict.LaunchEnd {
	end := verdict.LaunchEnd{Name: l.proc.Name(), Passed: l.passed, Stopped: l.stopped, Began: l.began}
	end.Code, end.Signal, _ = l.proc.Exit()
	return end
}

// LaunchRuns reports whether an mpirun still runs.
func (t *Tally) LaunchRuns(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.job.launches[i].proc.Ended()
}

// SessionsOf lists the sessions that an mpirun has asked for.
func (t *Tally) SessionsOf(launch int) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]bool{}
	for id, c := range t.job.calls {
		all[id] = c.launch == launch
	}
	return all
}

// release closes the processes.
func (j *job) release() {
	for _, l := range j.launches[1:] {
		l.proc.Close()
	}
	for _, s := range j.starters {
		s.proc.Close()
	}
}

// OpenLaunched counts the running sessions that mpiruns have asked for.
func (t *Tally) OpenLaunched() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.job.calls {
		if c.launch > 0 && !c.over {
			n++
		}
	}
	return n
}

// Launches counts the mpiruns that have asked for sessions.
func (t *Tally) Launches() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.job.launches) - 1
}

// Launchers counts the mpiruns and starters that have asked for sessions.
func (t *Tally) Launchers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.job.launches) - 1 + len(t.job.starters)
}

// Ill returns, by index, the cause of trouble of each mpirun that still runs.
func (t *Tally) Ill() map[int]verdict.Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[int]verdict.Trouble{}
	for i, l := range t.job.launches {
		var own []verdict.Trouble
		for _, one := range t.job.troubles {
			if one.Launch == i {
				own = append(own, one)
			}
		}
		if worst, found := verdict.Cause(own); i > 0 && found && !l.proc.Ended() {
			all[i] = worst
		}
	}
	return all
}

// KillLaunch kills an mpirun whose job cannot end well, and returns its name.
func (t *Tally) KillLaunch(i int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.job.launches[i]
	l.stopped = true
	l.proc.Kill()
	return l.proc.Name()
}
