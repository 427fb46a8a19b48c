package retry

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/exec/names"
)

// Brief is the duration below which an attempt counts as brief.
const Brief = time.Minute

// LastPause is the longest pause between two attempts.
const LastPause = time.Minute

const (
	firstPause = time.Second
	// mostFree is how many brief attempts in a row may be preempted or ignored for free. Further ones
	// use up restarts.
	mostFree = 5
)

// Policy is what the user allows.
type Policy struct {
	Max   int // largest number of restarts; 0: none
	On    Classes
	Rules Chooser // rules that come before On; nil: none
	Per   Budget  // limits how often restarts may follow each other
	// MaxNoProgress is how many attempts in a row may get no further than the best one before; 0: any
	// number.
	MaxNoProgress int
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

	Detail
	Progress Progress
}

// Detail is what only rules ask about an end.
type Detail struct {
	Preflight bool     // a check before the start failed
	Device    bool     // a device of the worker is broken, by its output or its pod
	Signal    int      // that ended the process which failed first; 0: none, or unknown
	Output    []string // the last lines of that process, if Muster carries its output
	Container string   // in which it ran; "": unknown, or there is none
	Worker    string   // on which it ran; "": unknown, or in the launcher
}

// Decision is what to do after an end.
type Decision struct {
	Again   bool
	Pause   time.Duration // before the next attempt
	Counted bool          // it used up a restart
	Next    int           // the number of the next attempt, from 0: MUSTER_ATTEMPT
	Action  Action        // how to restart: Restart, ReplaceWorker or RestartPods; "" without a restart
	Code    int           // the exit code of the run, in place of that of the attempt; 0: the attempt's
	// Sentence and Hint are for people. Hint may be empty.
	Sentence, Hint string
}

// Account counts the attempts of one run. With the zero Policy it retries nothing.
type Account struct {
	Policy Policy

	attempts int         // that have ended
	used     int         // restarts used up
	quick    int         // brief attempts in a row
	free     int         // of these, attempts that used up no restart
	recent   []time.Time // when restarts were decided, within the time of Policy.Per

	measured bool     // best is set
	best     Progress // the furthest that an attempt came
	still    int      // attempts in a row that did not get further
}

// Continue takes over a run from an Account that is gone: how many attempts have ended, and how many
// restarts are used up.
func (a *Account) Continue(attempts, used int) { a.attempts, a.used = attempts, used }

// Decide decides what to do after the end of an attempt at this time.
func (a *Account) Decide(e End, now time.Time) Decision {
	a.attempts++
	if e.Lasted >= Brief {
		a.quick, a.free = 0, 0
	} else {
		a.quick++
	}
	a.measure(e)
	d := Decision{Next: a.attempts, Counted: true}
	if e.Asked {
		a.quick, a.free = 0, 0
		d.Again, d.Counted, d.Action = true, false, Restart
		d.Sentence = a.announce(e, d)
		return d
	}
	if a.Policy.Max <= 0 {
		return d
	}
	action, refusal, hint := a.choose(e)
	free := (e.Preempted || action == Ignore) && a.free < mostFree
	switch {
	case refusal != "":
		d.Sentence, d.Hint = refusal, hint
		return d
	case !e.Preempted && a.stands():
		d.Sentence, d.Code = a.standstill(), names.ExitNoProgress
		d.Hint = "--max-no-progress=0 allows any number of such attempts"
		return d
	case !free && a.used >= a.Policy.Max:
		d.Sentence = fmt.Sprintf("no restart: all %d attempts are used up", a.used+1)
		switch {
		case e.Preempted:
			d.Sentence += fmt.Sprintf("; preempted %d times in a row within %s of the start", a.free+1, Brief)
		case action == Ignore:
			d.Sentence += fmt.Sprintf("; ignored %d times in a row within %s of the start", a.free+1, Brief)
		}
		return d
	case (!free || action == Ignore) && a.spent(now):
		d.Sentence = fmt.Sprintf("no restart: --max-restarts-per=%s allows no further restart now", a.Policy.Per)
		return d
	}
	if free {
		a.free++
	} else {
		a.used++
	}
	if !free || action == Ignore {
		a.recent = append(a.recent, now)
	}
	d.Again, d.Counted, d.Pause, d.Action = true, !free, pause(a.quick), action
	if action == Ignore {
		d.Action = Restart
	}
	d.Sentence = a.announce(e, d)
	return d
}

// choose returns the action for an end: that of the first rule that matches, else the one of the
// classes. If there is no restart, refusal says why.
func (a *Account) choose(e End) (action Action, refusal, hint string) {
	if a.Policy.Rules != nil {
		if action, rule, ok := a.Policy.Rules.Choose(e); ok {
			if action == Fail {
				return Fail, fmt.Sprintf("no restart: %s of --restart-policy says %s", rule, Fail), ""
			}
			return action, "", ""
		}
	}
	if yes, entry := a.Policy.On.retries(e); !yes && !e.Preempted {
		return Fail, fmt.Sprintf("no restart: %s, which is permanent", e.class(entry)), "--restart-on=+" + entry + " adds it to what is retried by default"
	}
	return Restart, "", ""
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
	switch {
	case d.Action == RestartPods:
		text += "; replacing all workers"
	case d.Action == ReplaceWorker && e.Worker != "":
		text += "; replacing worker " + e.Worker
	case d.Action == ReplaceWorker:
		text += "; replacing no worker: where the failure began is unknown"
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
		if wait *= 2; wait >= LastPause {
			return LastPause
		}
	}
	return wait
}
