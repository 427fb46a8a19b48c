package tally

import (
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// Launcher is the process of an mpirun, or of one of its like.
type Launcher interface {
	Name() string
	Is(other Launcher) bool
	Ended() bool
	// exit returns its exit code, false while it runs or if the kernel does not tell.
	Exit() (code, signal int, known bool)
	Kill()
	Close()
}

// launched is an mpirun that the command is or has started, and what is known of its job.
// A script may start several.
type launched struct {
	proc     Launcher
	began    time.Time // when it asked for its first session
	passed   bool      // the command has started another one since this one ended
	stopped  bool      // we told it to end
	hasRanks bool      // some of its sessions have had ranks
	hasMPI   bool      // and some of these use MPI
	// over is when it was seen to have ended. It is zero while the mpirun runs, and for
	// the sessions that no mpirun asked for.
	over time.Time
}

// until returns the time up to which it has run: now, if it still runs.
func (l *launched) until(now time.Time) time.Time {
	if l.over.IsZero() {
		return now
	}
	return l.over
}

// noteEnds notes which mpiruns have ended since the last call.
func (j *job) noteEnds(now time.Time) {
	for _, l := range j.launches[1:] {
		if l.over.IsZero() && l.proc.Ended() {
			l.over = now
		}
	}
}

// launchOf returns the index of an mpirun, 0 for none. A new one shows that the command has
// gone on from the mpiruns that ended before.
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

// goOn notes that the command has gone on from the mpiruns and starters that have ended.
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

// LaunchRuns reports whether an mpirun runs still.
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

// release lets go of the processes.
func (j *job) release() {
	for _, l := range j.launches[1:] {
		l.proc.Close()
	}
	for _, s := range j.starters {
		s.proc.Close()
	}
}

// OpenLaunched counts the running sessions that an mpirun has asked for.
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

// Ill returns the cause of trouble of each mpirun that still runs, by its index.
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
