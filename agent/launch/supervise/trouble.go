//go:build linux

package supervise

import (
	"time"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
)

func (s *Supervisor) strict() bool { return s.follows(verdict.ExitStrict) }

// script reports whether the command is judged by the mpiruns that it starts.
func (s *Supervisor) script() bool { return s.follows(verdict.ExitScript) }

func (s *Supervisor) follows(rule verdict.ExitRule) bool {
	return !s.Group && s.cfg.Rule() == rule && s.membership.needed()
}

// silentPatience is the patience for trouble that mpirun does not notice by itself. mpirun had its
// time before.
const silentPatience = time.Second

// announceAfter is how long a trouble is kept from the user. If mpirun notices it within that time,
// only the verdict names it.
const announceAfter = 2 * time.Second

// onTrouble begins to end the command if PID 1 of a worker saw trouble that the job cannot survive.
// It returns true if that changed how the command is to end. It ends only a strictly judged
// command, which can no longer end well.
func (s *Supervisor) onTrouble(now time.Time) (changed bool) {
	if s.script() {
		s.endLaunches(now)
		return false
	}
	t, ok := s.tally.Trouble()
	if !ok || !s.strict() {
		return false
	}
	patience := s.patience(t)
	if changed = s.ending.onTrouble(patience, s.cfg.Grace); changed {
		s.illAt = now
	}
	if s.ending.phase.ill() && !s.announced && (t.Silent || now.Sub(s.illAt) >= announceAfter) {
		s.announced = true
		s.voice.Say("%s; %s has %s to end by itself", t.Says(), s.Name, phrase.Seconds(patience-now.Sub(s.illAt)))
	}
	return changed
}

// patience returns how long an mpirun has to notice trouble by itself.
func (s *Supervisor) patience(t verdict.Trouble) time.Duration {
	switch {
	case t.Silent:
		return silentPatience
	case t.Likely == verdict.OfHost:
		return tally.RefusedPatience
	case s.cfg.MaxRestarts > 0:
		return lostPatience // the next attempt waits for it, and says what this one would have said
	}
	return troublePatience
}

// illness is the trouble of an mpirun that a script has started.
type illness struct {
	since             time.Time
	announced, killed bool
}

// endLaunches kills each mpirun of a script that has trouble and does not notice it in time. Such
// an mpirun may wait forever, and after TERM MPICH 4.0 would exit with 0. The script continues.
func (s *Supervisor) endLaunches(now time.Time) {
	for i, t := range s.tally.Ill() {
		ill := s.illnesses[i]
		if ill == nil {
			ill = &illness{since: now}
			s.illnesses[i] = ill
		}
		waited, patience := now.Sub(ill.since), s.patience(t)
		if !ill.announced && (t.Silent || waited >= announceAfter) {
			ill.announced = true
			s.voice.Say("%s; its mpirun has %s to end by itself", t.Says(), phrase.Seconds(patience-waited))
		}
		if waited >= patience && !ill.killed {
			ill.killed = true
			name := s.tally.KillLaunch(i)
			s.voice.Warn("%s; %s did not end by itself, and is killed", t.Says(), name)
		}
	}
}

// Reporting reports whether every worker reports its daemons and ranks.
func (s *Supervisor) Reporting() bool {
	for _, st := range s.links.Working() {
		if w, ok := st.Link.Welcome(); !ok || !w.Reports {
			return false
		}
	}
	return true
}
