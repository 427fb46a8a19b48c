package retry

import (
	"fmt"
	"time"
)

// Brief is how soon an attempt must have ended to count as one that got nowhere.
const Brief = time.Minute

const (
	firstPause = time.Second
	lastPause  = time.Minute
	// mostFree is how many brief attempts in a row may end by preemption before
	// these use up restarts like any other end.
	mostFree = 5
)

// Policy is what the user allows.
type Policy struct {
	Max int // restarts, at most; 0: none
	On  Classes
}

// End is how an attempt ended that did not succeed.
type End struct {
	Code int    // exit code, 128+n for a signal
	Why  string // for people: "rank 3 on worker-2 was killed by SIGKILL"
	Lost bool   // a worker was lost
	// Infra: it is our own infrastructure that failed, not the program.
	Infra bool
	OOM   bool // the kernel killed a process for its memory
	// Stalled: we ended it because it broke a progress rule.
	Stalled bool
	// Preempted: its worker was told to go from outside: a drain, an eviction, a
	// preemption, the shutdown of its node. It counts before everything else.
	Preempted bool
	// Asked: we ended it ourselves to begin again, since the job has other workers
	// now. That uses up nothing, and needs no restarts to be allowed.
	Asked  bool
	Lasted time.Duration // from the first process's start
}

// Decision is what follows from an end.
type Decision struct {
	Again   bool
	Pause   time.Duration // before the next attempt
	Counted bool          // it used up a restart
	Next    int           // the next attempt's number, from 0: MUSTER_ATTEMPT
	// Sentence is for people, as is Hint, which may be empty.
	Sentence, Hint string
}

// Account counts the attempts of one run. Its zero Policy retries nothing.
type Account struct {
	Policy Policy

	attempts int // that have ended
	used     int // restarts
	quick    int // attempts in a row that were brief
	free     int // of these, those that used up nothing
}

// Decide takes the end of an attempt.
func (a *Account) Decide(e End) Decision {
	a.attempts++
	if e.Lasted >= Brief {
		a.quick, a.free = 0, 0
	} else {
		a.quick++
	}
	d := Decision{Next: a.attempts, Counted: true}
	if e.Asked {
		a.quick, a.free = 0, 0
		d.Again, d.Counted = true, false
		d.Sentence = a.announce(e, d)
		return d
	}
	if a.Policy.Max <= 0 {
		return d
	}
	if yes, entry := a.Policy.On.retries(e); !yes && !e.Preempted {
		d.Sentence = fmt.Sprintf("no restart: %s, which is permanent", e.class(entry))
		d.Hint = "--restart-on=+" + entry + " adds it to what is retried by default"
		return d
	}
	free := e.Preempted && a.free < mostFree
	if !free && a.used == a.Policy.Max {
		d.Sentence = fmt.Sprintf("no restart: all %d attempts have been used", a.used+1)
		if e.Preempted {
			d.Sentence += fmt.Sprintf("; preempted %d times in a row within %s of the start", a.free+1, Brief)
		}
		return d
	}
	if free {
		a.free++
	} else {
		a.used++
	}
	d.Again, d.Counted, d.Pause = true, !free, pause(a.quick)
	d.Sentence = a.announce(e, d)
	return d
}

// class says in words what an entry of a list stands for.
func (e End) class(entry string) string {
	switch entry {
	case wordOOM:
		return "a process ran out of memory (oom)"
	case wordLost:
		return "a worker was lost (lost)"
	case wordInfra:
		return "our own infrastructure failed (infra)"
	}
	return "exit code " + entry
}

// announce is the sentence before another attempt. People count from 1; what
// used up nothing adds one to the attempts that there are.
func (a *Account) announce(e End, d Decision) string {
	left := max(0, a.Policy.Max-a.used)
	text := fmt.Sprintf("attempt %d of %d", a.attempts+1, a.attempts+1+left)
	if d.Pause > 0 {
		text += fmt.Sprintf(" in %.0f s", d.Pause.Seconds())
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	if !d.Counted && a.Policy.Max > 0 {
		text += "; that uses up no restart"
	}
	return text
}

// pause is the wait after so many brief attempts in a row.
func pause(quick int) time.Duration {
	if quick < 2 {
		return 0
	}
	wait := firstPause
	for range quick - 2 {
		if wait *= 2; wait >= lastPause {
			return lastPause
		}
	}
	return wait
}
