package metrics

import (
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/goodput"
)

// mostKept bounds the events that an account of a run keeps in memory: 200 attempts of 1,000 workers, in
// about 30 MB. A run with more has no goodput here.
const mostKept = 200_000

// spending accounts for the time of the workers while a run goes on.
type spending struct {
	reader *goodput.Reader // nil: there were too many events
	taken  int
}

func (s *spending) take(e event.Event) {
	if s.reader == nil || e.Kind == event.Sampled {
		return
	}
	if s.taken++; s.taken > mostKept {
		s.reader = nil
		return
	}
	s.reader.Take(e)
}

// until returns the account of the run until now, or nil if it is unknown.
func (s *spending) until(now time.Time) goodput.Account {
	if s.reader == nil || s.taken == 0 {
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
