package goodput

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/timeline"
)

// Of returns the account of a timeline. Its classes add up to the wall time of each worker, times the
// number of workers.
func Of(t *timeline.Timeline) Account {
	account := Account{}
	attempts := attemptsOf(t)
	for i := range t.Workers {
		w := &t.Workers[i]
		ends := rankEnds(w)
		for _, s := range w.Spans {
			if s.Phase != timeline.Running {
				account[classOf(s.Phase)] += s.Took().Seconds()
				continue
			}
			attempts.of(s.Attempt).split(account, s, ends[s.Attempt])
		}
	}
	return account
}

// rankEnds returns when the last rank of each attempt ended on a worker. It leaves out attempts in which
// not every end was recorded.
func rankEnds(w *timeline.Worker) map[int]time.Time {
	ends, missing := map[int]time.Time{}, map[int]bool{}
	for _, e := range w.Notes {
		if e.Kind != event.RankEnded {
			continue
		}
		missing[e.Attempt] = missing[e.Attempt] || e.Count == event.OnlyFirst
		if e.Time.After(ends[e.Attempt]) {
			ends[e.Attempt] = e.Time
		}
	}
	maps.DeleteFunc(ends, func(attempt int, _ time.Time) bool { return missing[attempt] })
	return ends
}

// split adds a span in which the command ran on a worker, part by part. end is when the worker's last
// rank ended; zero: unknown.
func (a *attempt) split(account Account, s timeline.Span, end time.Time) {
	cuts := []time.Time{s.From, s.To, a.stop, a.saved, end}
	for _, stall := range a.stalls {
		cuts = append(cuts, stall.from, stall.to)
	}
	cuts = slices.DeleteFunc(cuts, func(at time.Time) bool { return at.Before(s.From) || at.After(s.To) })
	slices.SortFunc(cuts, time.Time.Compare)
	for i, from := range cuts[:len(cuts)-1] {
		if took := cuts[i+1].Sub(from); took > 0 {
			account[a.class(from, end)] += took.Seconds()
		}
	}
}

// class returns the class of the time from a cut to the next one.
func (a *attempt) class(from, end time.Time) Class {
	reached := func(at time.Time) bool { return !at.IsZero() && !from.Before(at) }
	switch {
	case a.isStalled(from):
		return Stalled
	case (a.failed || reached(a.stop)) && reached(end):
		return a.after
	case reached(a.stop):
		return Saving
	case !a.failed:
		return Productive
	case !a.looked:
		return Unknown
	case from.Before(a.saved):
		return Productive
	}
	return Lost
}
