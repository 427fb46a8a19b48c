package metrics

import (
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
)

const (
	// mostKept bounds the events that an account of a run keeps in memory: 200 attempts of 1,000 workers, in
	// about 30 MB. A run with more has no goodput here.
	mostKept = 200_000
	// mostTurns bounds the time of an account, and so of a scrape: an event of the whole run may change the
	// class of each worker. It takes half a second: 400 attempts of 1,000 workers, or 40 of 10,000.
	mostTurns = 1_000_000
)

// spending accounts for the time of the workers while a run goes on.
type spending struct {
	reader *goodput.Reader // nil: there were too many events
	// Of the events that the account needs:
	wide    int             // those of the whole run
	workers map[string]bool // that have some
}

func newSpending() spending {
	return spending{reader: goodput.NewReader(), workers: map[string]bool{}}
}

func (s *spending) take(e event.Event) {
	if s.reader == nil || e.Kind == event.Sampled {
		return
	}
	before := s.reader.Len()
	s.reader.Take(e)
	switch {
	case s.reader.Len() == before:
		return
	case e.Worker == "":
		s.wide++
	default:
		s.workers[e.Worker] = true
	}
	if s.reader.Len() > mostKept || s.wide*len(s.workers) > mostTurns {
		s.reader, s.workers = nil, nil
	}
}

// until returns the account of the run until now, or nil if it is unknown.
func (s *spending) until(now time.Time) goodput.Account {
	if s.reader == nil || s.reader.Len() == 0 {
		return nil
	}
	return s.reader.Account(now)
}

// classes lists the values of the label class.
func classes() (all []string) {
	for _, a := range goodput.Table() {
		all = append(all, string(a.Class))
	}
	return all
}
