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
	return !s.Group && s.cfg.Rule() == rule && s.members.needed()
}

// silentPatience is for what mpirun does not notice: it had its time before.
const silentPatience = time.Second

// announceAfter keeps a trouble to itself that mpirun notices at once: the
// verdict names it then.
const announceAfter = 2 * time.Second

// onTrouble lets the command's end begin when PID 1 of a worker saw what the
// job does not get over: true when that changed how it is to end. Only a command
// that is judged strictly is ended: it could not end well any more.
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

// patience is how long an mpirun has to notice trouble by itself.
func (s *Supervisor) patience(t verdict.Trouble) time.Duration {
	switch {
	case t.Silent:
		return silentPatience
	case t.Likely == verdict.OfHost:
		return tally.RefusedPatience
	case s.cfg.MaxRestarts > 0:
		return lostPatience // the next attempt waits, and says what this one would have
	}
	return troublePatience
}

// illness is the trouble of an mpirun that a script has started.
type illness struct {
	since             time.Time
	announced, killed bool
}

// endLaunches kills each mpirun of a script that has trouble and does not notice in time: it
// may wait forever, and after TERM MPICH 4.0 would tell the script 0. The script goes on.
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

// Reporting reports whether every worker tells of its daemons and ranks.
func (s *Supervisor) Reporting() bool {
	for _, st := range s.links.Standings() {
		if w, ok := st.Link.Welcome(); !ok || !w.Reports {
			return false
		}
	}
	return true
}
