package retry

import (
	"fmt"
	"time"
)

// Brief is the duration below which an attempt counts as brief.
const Brief = time.Minute

const (
	firstPause = time.Second
	lastPause  = time.Minute
	// mostFree is how many brief attempts in a row may be preempted for free. Further ones use up
	// restarts.
	mostFree = 5
)

// Policy is what the user allows.
type Policy struct {
	Max int // largest number of restarts; 0: none
	On  Classes
}

// End is how a failed attempt ended.
type End struct {
	Code int    // exit code, 128+n for a signal
	Why  string // for people: "rank 3 on worker-2 was killed by SIGKILL"
	Lost bool   // a worker was lost
	// Infra means that our own infrastructure failed, not the program.
	Infra bool
	OOM   bool // the kernel killed a process for its memory
	// Stalled means that we stopped it because it broke a progress rule.
	Stalled bool
	// Preempted means that its worker was stopped from outside: by a drain, an eviction, a
	// preemption or a node shutdown. It takes precedence over everything else.
	Preempted bool
	// Asked means that we stopped it to start the next attempt with a changed set of workers. That
	// uses up no restart, and is allowed without restarts.
	Asked  bool
	Lasted time.Duration // since the start of the first process
}

// Decision is what to do after an end.
type Decision struct {
	Again   bool
	Pause   time.Duration // before the next attempt
	Counted bool          // it used up a restart
	Next    int           // the number of the next attempt, from 0: MUSTER_ATTEMPT
	// Sentence and Hint are for people. Hint may be empty.
	Sentence, Hint string
}

// Account counts the attempts of one run. With the zero Policy it retries nothing.
type Account struct {
	Policy Policy

	attempts int // that have ended
	used     int // restarts used up
	quick    int // brief attempts in a row
	free     int // of these, attempts that used up no restart
}

// Decide decides what to do after the end of an attempt.
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
		d.Sentence = fmt.Sprintf("no restart: all %d attempts are used up", a.used+1)
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

// class describes an entry of a list in words.
func (e End) class(entry string) string {
	switch entry {
	case wordOOM:
		return "a process ran out of memory (oom)"
	case wordLost:
		return "a worker was lost (lost)"
	case wordInfra:
		return "Muster itself failed (infra)"
	}
	return "exit code " + entry
}

// announce returns the sentence before the next attempt. It counts from 1. Each attempt that used
// up no restart adds one to the total.
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
		text += "; this does not count as a restart"
	}
	return text
}

// pause returns the wait after that many brief attempts in a row.
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
