//go:build linux

package supervise

import (
	"cmp"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/reap"
)

// onSignal handles a signal, and reports whether it changed how the command is to end.
func (s *Supervisor) onSignal(sig os.Signal) (changed bool) {
	n, ok := sig.(syscall.Signal)
	if !ok {
		return false
	}
	first := !s.ending.phase.told()
	forward, changed := s.ending.onSignal(n, s.cfg.Grace, time.Now())
	ranks := 0
	if forward {
		var later <-chan int
		if ranks, later = s.pass(n); later != nil {
			s.counted = later
		}
	}
	switch {
	case changed && first && s.counted == nil:
		s.sayStopping(ranks)
	case changed && !first:
		s.counted = nil
		s.voice.Say("%s again: killing %s", phrase.SignalName(int(n)), s.Name)
	}
	return changed
}

// pass gives the command a signal. If a KILL is due later, the signal is a stop. pass returns the
// results of Running.Stop.
func (s *Supervisor) pass(sig syscall.Signal) (ranks int, later <-chan int) {
	if grace := s.ending.wait(); grace > 0 && (sig == syscall.SIGTERM || sig == syscall.SIGINT) {
		return s.Command.Stop(sig, grace, s.ending.phase.lost() || s.ending.phase.ill())
	}
	s.Command.Signal(sig)
	return 0, nil
}

// sayStopping prints what the first signal that told us to stop does.
func (s *Supervisor) sayStopping(ranks int) {
	s.counted = nil
	second := "; a second one kills at once"
	if !s.ending.phase.told() {
		second = "" // no signal came before
	}
	s.voice.Say("%s: %s%s", s.why(), s.stopping(ranks), second)
}

// finish completes a watch.
func (s *Supervisor) finish() {
	s.lateFallback()
	s.lateStragglers()
	s.tellSizes(time.Now(), true)
	s.Rest.end()
	s.sayCounted()
}

// sayCounted calls sayStopping for a command that has ended, if the message was not printed before.
func (s *Supervisor) sayCounted() {
	select {
	case n := <-s.counted:
		s.sayStopping(n)
	default:
	}
}

// stopping says what a stop does. ranks is how many ranks are asked; 0 means unknown.
func (s *Supervisor) stopping(ranks int) string {
	whom := s.Name
	if s.Starter != "" {
		whom = s.Starter + " on " + phrase.Count(len(s.started), "worker")
	} else if ranks > 0 {
		whom = reap.Count(ranks, s.whatOf())
	}
	text := reap.Stopping(whom, s.graceNow())
	if s.ending.phase.told() && !s.cfg.Given("grace") && !s.cfg.HasPodGrace() {
		text += " (the default of --grace)"
	}
	return text
}

func (s *Supervisor) whatOf() string { return cmp.Or(s.What, "rank") }

// onGoingDown begins to stop a command if a worker with daemons or ranks is going down. It returns
// true if that changed how the command is to end. All ranks have the rest of that worker's grace.
func (s *Supervisor) onGoingDown(now time.Time) (changed bool) {
	one := s.links.TakeLeaving()
	return one != nil && s.letGo(one, now)
}

// letGo is onGoingDown for this worker.
func (s *Supervisor) letGo(one *fleet.GoingDown, now time.Time) (changed bool) {
	grace := one.Until.Sub(now)
	if s.membership.spares() || !s.ending.onGoingDown(grace) {
		return false
	}
	s.tally.Preempt(one.Worker)
	s.goingDown = one
	s.RestartFor = s.membership.restartsWithout(one.Worker)
	ranks, later := s.Command.Leave(one.Worker, grace)
	if s.counted = later; later == nil {
		s.sayStopping(ranks)
	}
	return true
}

// why says what has told the command to stop.
func (s *Supervisor) why() string {
	if !s.ending.phase.told() && s.goingDown != nil {
		return fmt.Sprintf("worker %s was told to stop", s.goingDown.Worker)
	}
	return phrase.SignalName(s.ending.told)
}

// graceNow returns the time from the first signal to KILL.
func (s *Supervisor) graceNow() time.Duration {
	if !s.ending.phase.told() && s.goingDown != nil {
		return max(0, time.Until(s.goingDown.Until)).Round(time.Second)
	}
	return s.cfg.Grace
}
