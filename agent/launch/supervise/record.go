//go:build linux

package supervise

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// recordStop records that the command is being stopped, once.
func (s *Supervisor) recordStop() {
	if s.recorded || !s.ending.phase.ends() && !s.ending.phase.going() && s.RestartFor == "" {
		return
	}
	s.recorded = true
	s.record.Note(event.StopAsked, s.stopCause(), 0)
}

// recordStall records that the run makes no progress by a rule, or by the hang watch. quiet is how long
// it has made none; 0: that is not what the rule watches.
func (s *Supervisor) recordStall(key, why string, quiet time.Duration) {
	if quiet > 0 && !slices.Contains(s.stalls, key) {
		s.stalls = append(s.stalls, key)
	}
	s.record.Note(event.Stalled, why, int(quiet.Milliseconds()))
}

// recordMoving records that the run makes progress again. While it is stalled by another rule, nothing
// is recorded.
func (s *Supervisor) recordMoving(key, why string) {
	i := slices.Index(s.stalls, key)
	if i < 0 {
		return
	}
	s.stalls = slices.Delete(s.stalls, i, i+1)
	if len(s.stalls) == 0 {
		s.record.Note(event.Moving, why, 0)
	}
}

// stopCause says why the command is being stopped.
func (s *Supervisor) stopCause() string {
	switch {
	case s.ending.phase.told():
		return phrase.SignalName(s.ending.told)
	case s.goingDown != nil:
		return s.why()
	case s.ending.phase.lost():
		return "a worker was lost"
	}
	return cmp.Or(s.RestartFor, s.Refused, s.Hung, "the command cannot end well any more")
}

// nodeOf returns the node of a worker, if it is known.
func (s *Supervisor) nodeOf(worker string) string {
	for _, w := range s.started {
		if w.Name == worker {
			return w.Node
		}
	}
	return ""
}
