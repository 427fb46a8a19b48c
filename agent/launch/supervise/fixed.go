//go:build linux

package supervise

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/rendezvous"
)

// fixed is the membership of a run with the same workers from the beginning of an attempt to its
// end.
type fixed struct{ *Supervisor }

// lostLinks implements membership.
func (s fixed) lostLinks(now time.Time) (changed bool) {
	for _, st := range s.links.Working() {
		if _, known := s.unsure[st.Worker.Name]; st.Err == nil || known || s.known(st.Worker.Name) {
			continue
		}
		s.unsure[st.Worker.Name] = suspicion{lostLink(st.Worker.Name, st.Err), now}
		changed = !s.Group && s.ending.onLost(s.cfg.Grace) || changed
	}
	s.settle(now)
	return changed
}

// lostPods implements membership.
func (s fixed) lostPods(shot rendezvous.Snapshot, now time.Time) (changed bool) {
	if shot.At.IsZero() {
		return false // no cluster, or no snapshot yet
	}
	losses := rendezvous.Lost(s.started, shot, now)
	if len(losses) == 0 {
		return false
	}
	standings := s.links.Standings()
	for _, loss := range losses {
		name := loss.Worker.Name
		if s.known(name) {
			continue
		}
		_, woken := s.woken[name]
		if !loss.Gone && !nodeLost(standings[name].State, loss, woken, s.cfg.NodeLostAfter, now) {
			s.wake(name, standings[name], loss.Reason)
			if !loss.Reason.Ordinary() && !s.warned[name] {
				s.warned[name] = true
				s.voice.Say("%s", loss.Reason.Sentence)
			}
			continue
		}
		if s.lose(lostPod(loss.Reason)) {
			changed = true
			if !loss.Gone {
				s.ending.hurry()
			}
		}
		s.links.Lose(name, errors.New(causeIn(loss.Reason)))
	}
	return changed
}

// settleLinks implements membership.
func (s fixed) settleLinks(now time.Time) {
	for _, u := range s.unsure {
		if now.Sub(u.since) >= s.statusWait {
			s.lose(u.lost)
		}
	}
}

// incomplete implements membership. It reports whether a worker was lost after all had been there,
// but before the command started. No mpirun can be relied on to notice.
func (s fixed) incomplete() bool {
	return !s.Group && slices.ContainsFunc(s.started, func(w rendezvous.Worker) bool { return s.known(w.Name) })
}

// lastLook implements membership. mpirun is often the first to notice a loss.
func (s fixed) lastLook(ctx context.Context, failed bool) {
	limit := verdictWait
	if len(s.unsure) > 0 || s.unexplained() || s.isGoing() {
		limit = causeWait
	}
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	pace := wait.NewPace(s.links.Changed)
	defer pace.Stop()
	for s.inDoubt(waiting, failed) {
		select {
		case shot := <-s.pods:
			s.onPods(shot, time.Now())
		case <-pace.Due():
			now := time.Now()
			s.onLinks(now)
			pace.Looked(now)
		case <-pace.Over():
			pace.Resume()
		case sig := <-s.signals:
			if fleet.ToldWhileWaiting(sig) == nil {
				continue // meant for the command
			}
			s.ending.onStopLate()
			s.loseUnsure()
			return
		case <-waiting.Done():
			s.loseUnsure()
			if failed && !s.tally.AnyLost() {
				s.loseSilent(s.links.Working())
			}
			return
		}
	}
}

// loseUnsure marks the workers as lost whose loss the pods' status has not explained in time.
func (s fixed) loseUnsure() {
	for _, u := range s.unsure {
		s.lose(u.lost)
	}
	if s.isGoing() {
		s.lose(verdict.Lost{Worker: s.goingDown.Worker, Cause: "it was told to stop", Leaving: true})
	}
}

// isGoing reports whether the worker for which the command was stopped is not yet known to be lost.
func (s fixed) isGoing() bool { return s.goingDown != nil && !s.known(s.goingDown.Worker) }

// needed implements membership.
func (s fixed) needed() bool { return true }

// spares implements membership.
func (s fixed) spares() bool { return s.Spares }

// restartsWithout implements membership.
func (s fixed) restartsWithout(string) string { return "" }

// pardon implements membership. It removes nothing, because the command survives no loss.
func (s fixed) pardon(*verdict.Evidence) {}

// departing implements membership.
func (s fixed) departing() map[string]bool { return map[string]bool{} }

// overrule implements membership.
func (s fixed) overrule(bool, []verdict.Lost) (v verdict.Verdict, overruled bool) { return v, false }

// inDoubt reports whether the verdict may still change. If a job failed with all its workers alive,
// the wait is one round trip.
func (s fixed) inDoubt(ctx context.Context, failed bool) bool {
	switch {
	case s.ending.phase.told():
		return false
	case len(s.unsure) > 0, s.unexplained(), s.isGoing():
		return true
	case !failed || s.tally.AnyLost():
		return false
	}
	return !s.links.Alive(ctx)
}
