//go:build linux

package launch

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// onGoingDown begins the stop of a command one of whose daemons is about to go: true when that
// changed how the command is to end. All ranks have what is left of that worker's grace.
func (s *supervisor) onGoingDown(now time.Time) (changed bool) {
	one := s.links.TakeLeaving()
	return one != nil && s.letGo(one, now)
}

// letGo is onGoingDown for that worker.
func (s *supervisor) letGo(one *fleet.GoingDown, now time.Time) (changed bool) {
	grace := one.Until.Sub(now)
	if s.members.spares() || !s.ending.onGoingDown(grace) {
		return false
	}
	s.tally.Preempt(one.Worker)
	s.goingDown = one
	s.anew = s.members.anewWithout(one.Worker)
	ranks, later := s.cmd.Leave(one.Worker, grace)
	if s.counted = later; later == nil {
		s.sayStopping(ranks)
	}
	return true
}

// why says what has told the command to stop.
func (s *supervisor) why() string {
	if !s.ending.phase.told() && s.goingDown != nil {
		return fmt.Sprintf("worker %s was told to stop", s.goingDown.Worker)
	}
	return phrase.SignalName(s.ending.told)
}

// graceNow is the time from the first signal to KILL.
func (s *supervisor) graceNow() time.Duration {
	if !s.ending.phase.told() && s.goingDown != nil {
		return max(0, time.Until(s.goingDown.Until)).Round(time.Second)
	}
	return s.cfg.Grace
}
