package goodput

import (
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/timeline"
)

// attempt is what is known of one attempt of the command.
type attempt struct {
	failed bool      // its work is lost, except what it has saved
	looked bool      // its checkpoints were looked up
	saved  time.Time // its newest checkpoint; zero: it has none
	stop   time.Time // when it was asked to stop; zero: it was not
	after  Class     // of a worker whose ranks have ended, if the attempt failed or was stopped
	stalls []stall
}

// stall is a time without progress.
type stall struct {
	from, to time.Time
	open     bool // progress was not seen again
}

// isStalled reports whether the attempt was stalled at a time.
func (a *attempt) isStalled(at time.Time) bool {
	return slices.ContainsFunc(a.stalls, func(s stall) bool { return !at.Before(s.from) && at.Before(s.to) })
}

// attempts holds the attempts of a run by number.
type attempts struct {
	all  map[int]*attempt
	last int       // the last attempt that was started or prepared
	end  time.Time // of the timeline
}

// of returns the attempt with a number. One that another attempt follows has failed.
func (a attempts) of(number int) *attempt {
	one := a.all[number]
	if one == nil {
		one = &attempt{after: Ending}
		if number < a.last {
			one.failed, one.after = true, Restarting
		}
		a.all[number] = one
	}
	return one
}

// attemptsOf returns what the events of the run say about its attempts.
func attemptsOf(t *timeline.Timeline) attempts {
	a := attempts{all: map[int]*attempt{}, end: t.To}
	for _, one := range t.Attempts {
		a.last = max(a.last, one.Number)
	}
	for _, e := range t.Notes {
		if e.Kind == event.Restart {
			a.last = max(a.last, e.Attempt)
		}
	}
	for _, one := range t.Attempts {
		if one.Over && one.Exit != 0 {
			a.of(one.Number).failed = true
		}
	}
	for _, e := range t.Notes {
		a.take(e)
	}
	return a
}

// take takes an event of the run.
func (a attempts) take(e event.Event) {
	one := a.of(e.Attempt)
	switch e.Kind {
	case event.Stalled:
		one.stalled(e, a.end)
	case event.Moving, event.AttemptEnded:
		for i := range one.stalls {
			if s := &one.stalls[i]; s.open {
				s.open, s.to = false, e.Time
			}
		}
	case event.StopAsked:
		if one.stop.IsZero() {
			one.stop = e.Time
		}
	case event.Saved:
		one.looked = true
		if e.Time.After(one.saved) {
			one.saved = e.Time
		}
	case event.Unsaved:
		one.looked = true
	}
}

// stalled takes the beginning of a stall. Without a length, the line of a program has failed, which is
// no stall.
func (a *attempt) stalled(e event.Event, end time.Time) {
	if e.Count > 0 {
		a.stalls = append(a.stalls, stall{from: e.Time.Add(-time.Duration(e.Count) * time.Millisecond), to: end, open: true})
	}
}
