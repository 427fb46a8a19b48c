//go:build linux

package supervise

import (
	"cmp"

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
