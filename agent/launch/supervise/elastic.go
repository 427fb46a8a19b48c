//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// mostOwn is how often a worker may end by itself, by an OOM kill or a crash of its container,
	// before it is no longer accepted.
	mostOwn = 3
	// afterLoss is how long a command that lost a worker may take to fail because of that. torchrun
	// notices a silent peer after 15 s, and then retries by itself.
	afterLoss = 3 * time.Minute
)

// Roster tracks who takes part in an elastic run during an attempt.
type Roster struct {
	Workforce rendezvous.Workforce
	// Hear is given the snapshots of the API server; nil without a cluster.
	Hear func(rendezvous.Snapshot)
	// Ready returns the workers that can take part now, including those that already do. It opens
	// links to workers that might.
	Ready func() []rendezvous.Worker
	// Changed is called for each change. takes means that the attempt's processes accept the
	// workers that have joined.
	Changed func(c rendezvous.Change, takes bool)
	Needed  bool    // the command does not survive the loss of a worker
	Takes   bool    // but it accepts a worker that joins
	Absent  *Absent // workers that have left

	fault bool                 // a needed worker ended by itself: that decides the verdict, whatever other workers do
	left  map[string]time.Time // by worker: when it was dismissed, or began to leave, in this attempt
	lost  time.Time            // when a worker was last taken away
	whose string               // the name of that worker
	short time.Time            // since when there are too few workers; zero: there are enough
	late  string               // says that there were too few workers for too long; "": there were not
}

// Enroll lets workers join and leave while the command runs.
func (s *Supervisor) Enroll(r *Roster) {
	r.left = map[string]time.Time{}
	s.membership = elastic{s, r}
}

// elastic is the membership of a run with --min-workers.
type elastic struct {
	*Supervisor
	roster *Roster
}

// lostLinks implements membership.
func (s elastic) lostLinks(now time.Time) (changed bool) { return s.review(now) }

// lostPods implements membership.
func (s elastic) lostPods(shot rendezvous.Snapshot, now time.Time) (changed bool) {
	s.roster.Hear(shot)
	return s.review(now)
}

// settleLinks implements membership. It does nothing, because losses settles links.
func (s elastic) settleLinks(time.Time) {}

// incomplete implements membership. It returns false, because the other workers continue.
func (s elastic) incomplete() bool { return false }

// needed implements membership.
func (s elastic) needed() bool { return s.roster.Needed }

// spares implements membership.
func (s elastic) spares() bool { return !s.roster.Needed }

// restartsWithout implements membership.
func (s elastic) restartsWithout(worker string) string { return "worker " + worker + " left" }

// review checks which workers are there, and acts on changes. It returns true if that changed how
// the command is to end.
func (s elastic) review(now time.Time) (changed bool) {
	r := s.roster
	losses := s.losses(now)
	c := r.Workforce.Look(r.Ready(), losses)
	for _, loss := range c.Gone {
		changed = s.dismiss(loss, now) || changed
	}
	for _, loss := range c.Leaving {
		r.lost, r.whose, r.left[loss.Worker.Name] = now, loss.Worker.Name, now
	}
	if !c.None() {
		s.takePart(c)
		why := s.change(c)
		s.tell(c) // a reader of this line may use a joined worker at once
		switch {
		case why != "" && s.Group && len(c.Leaving) > 0:
			changed = s.letGo(&fleet.GoingDown{Worker: c.Leaving[0].Worker.Name, Until: now.Add(s.cfg.Grace)}, now) || changed
		case why != "":
			changed = s.restartFor(why) || changed
		}
	}
	return s.tooFew(now) || changed
}

// takePart records who takes part after a change. A worker that is there again is no longer taken away.
func (s elastic) takePart(c rendezvous.Change) {
	s.started = s.roster.Workforce.All()
	for _, w := range slices.Concat(c.Joined, c.Back) {
		delete(s.takenBy, w.Name)
	}
}

// change announces a change of the workers. It returns why the attempt has to restart, or "" if it
// can adapt by itself.
func (s elastic) change(c rendezvous.Change) (restart string) {
	r := s.roster
	suits := !r.Needed || r.Takes && len(c.Gone)+len(c.Leaving) == 0
	r.Changed(c, suits && r.Needed && !r.fault && !s.ending.phase.stops())
	if suits || r.fault {
		return ""
	}
	return regroupFor(c)
}

// regroupFor describes a change. It returns "" for a loss that the command has to judge.
func regroupFor(c rendezvous.Change) string {
	for _, loss := range slices.Concat(c.Leaving, c.Gone) {
		if loss.Leaving || taken(loss.Reason) {
			return "worker " + loss.Worker.Name + " left"
		}
	}
	for _, w := range slices.Concat(c.Joined, c.Back) {
		return "worker " + w.Name + " joined"
	}
	return ""
}

// losses returns the workers that are gone, or about to leave, according to their pods, nodes and
// links.
func (s elastic) losses(now time.Time) []rendezvous.Loss {
	var list []rendezvous.Loss
	standings := s.links.Standings()
	gone := map[string]bool{}
	workers := s.roster.Workforce.All()
	if !s.last.At.IsZero() {
		for _, loss := range rendezvous.Lost(workers, s.last, now) {
			st := standings[loss.Worker.Name]
			if !loss.Gone && st.Link != nil {
				_, woken := s.woken[loss.Worker.Name]
				loss.Gone = nodeLost(st.State, loss, woken, s.cfg.NodeLostAfter, now)
				s.wake(loss.Worker.Name, st, loss.Reason)
			}
			gone[loss.Worker.Name] = loss.Gone
			list = append(list, loss)
		}
	}
	for _, w := range workers {
		st := standings[w.Name]
		if st.Err == nil || gone[w.Name] || !fleet.Same(st.Worker, w) {
			continue
		}
		u, known := s.unsure[w.Name]
		if !known {
			u = suspicion{lostLink(w.Name, st.Err), now}
			s.unsure[w.Name] = u
		}
		if now.Sub(u.since) >= s.statusWait {
			list = append(list, rendezvous.Loss{Worker: w, Gone: true, Reason: rendezvous.Reason{
				Code: rendezvous.Unreachable, Pod: w.Name, Sentence: w.Name + ": " + u.lost.Cause}})
		}
	}
	return list
}

// dismiss closes a worker's link for good. A worker that ended by itself may be the program's
// fault, so it is lost, as in any run, for a command that needs it.
func (s elastic) dismiss(loss rendezvous.Loss, now time.Time) (changed bool) {
	name := loss.Worker.Name
	delete(s.unsure, name)
	s.roster.left[name] = now
	s.roster.Absent.note(loss.Worker)
	s.links.Dismiss(loss.Worker, errors.New(causeIn(loss.Reason)))
	if taken(loss.Reason) || !s.roster.Needed { // otherwise lose records it
		s.record.Worker(event.WorkerLost, name, loss.Worker.Node, causeIn(loss.Reason))
	}
	if taken(loss.Reason) {
		s.roster.lost, s.roster.whose = now, name
		return false
	}
	s.roster.Absent.own[name]++
	if s.roster.Absent.own[name] == mostOwn {
		s.voice.Warn("worker %s has ended by itself %d times: not using it again", name, mostOwn)
	}
	if !s.roster.Needed {
		return false
	}
	s.roster.fault = true
	changed = s.lose(lostPod(loss.Reason))
	if s.roster.Takes { // otherwise its group would continue without the worker
		changed = s.ending.onRestart(s.cfg.Grace)
	}
	return changed
}

// taken reports whether the worker was taken away, which no program does to itself.
func taken(r rendezvous.Reason) bool {
	return isLeaving(r) || slices.Contains([]rendezvous.Code{rendezvous.Missing, rendezvous.NodeLost, rendezvous.NotReady, rendezvous.Unreachable}, r.Code)
}

// tell prints a line for each change.
func (s elastic) tell(c rendezvous.Change) {
	m := s.roster.Workforce
	there := fmt.Sprintf("%s, %d to %d wanted", phrase.Count(len(m.Present()), "worker"), m.Least, m.Most)
	for _, loss := range c.Gone {
		s.voice.Say("worker %s left (%s): %s", loss.Worker.Name, causeIn(loss.Reason), there)
	}
	for _, loss := range c.Leaving {
		s.voice.Say("worker %s is leaving (%s): %s", loss.Worker.Name, causeIn(loss.Reason), there)
	}
	for _, w := range c.Joined {
		s.voice.Say("worker %s joined: %s", w.Name, there)
	}
	for _, w := range c.Back {
		s.voice.Say("worker %s stays after all: %s", w.Name, there)
	}
}

// tooFew waits for more workers if there are fewer than the minimum, and ends the command if not
// enough have come within --timeout.
func (s elastic) tooFew(now time.Time) (changed bool) {
	r := s.roster
	switch short := r.Workforce.Short(); {
	case short == 0:
		r.short = time.Time{}
	case s.ending.phase.stops(): // a restart waits for them
	case r.short.IsZero():
		r.short = now
		s.voice.Warn("%d of at least %s ready; waiting%s for more", len(r.Workforce.Present()), phrase.Count(r.Workforce.Least, "worker"), phrase.UpTo(s.cfg.Timeout))
	case r.late == "" && s.cfg.Timeout > 0 && now.Sub(r.short) >= s.cfg.Timeout:
		r.late = fmt.Sprintf("only %d of at least %s ready for %s", len(r.Workforce.Present()), phrase.Count(r.Workforce.Least, "worker"), phrase.Seconds(s.cfg.Timeout))
		return s.ending.onRestart(s.cfg.Grace)
	}
	return false
}

// pardon implements membership. It removes what went wrong on workers that have left, because the
// command survived that. Horovod's processes on a host that was taken away end with 134.
func (s elastic) pardon(e *verdict.Evidence) {
	away := map[string]bool{}
	for name := range s.roster.left {
		away[name] = true
	}
	for _, w := range s.roster.Workforce.All() {
		if !slices.ContainsFunc(s.roster.Workforce.Present(), func(p rendezvous.Worker) bool { return p.Name == w.Name }) {
			away[w.Name] = true
		}
	}
	if !s.roster.Needed {
		e.Launches, e.Starters = nil, nil // the exit code of a command that survives losses counts
		survived := func(worker string) bool {
			at, left := s.roster.left[worker]
			return left && time.Since(at) >= afterLoss
		}
		e.Leaving, e.Starved = slices.DeleteFunc(e.Leaving, survived), slices.DeleteFunc(e.Starved, survived)
	}
	e.Bad = slices.DeleteFunc(e.Bad, func(b verdict.BadSession) bool { return away[b.Worker] })
	e.Cut = slices.DeleteFunc(e.Cut, func(c verdict.Cut) bool { return away[c.Worker] })
	e.Ranks = slices.DeleteFunc(e.Ranks, func(r verdict.RankEnd) bool { return away[r.Worker] })
	e.Troubles = slices.DeleteFunc(e.Troubles, func(t verdict.Trouble) bool { return away[t.Worker] })
}

// lastLook implements membership. An elastic attempt may have failed because of a worker whose loss
// has not been reported yet. A command that survives a loss has failed for other reasons.
func (s elastic) lastLook(ctx context.Context, failed bool) {
	failed = failed && s.roster.Needed
	ctx, stop := context.WithTimeout(ctx, verdictWait)
	defer stop()
	for failed && !s.ending.phase.told() && s.RestartFor == "" && s.roster.late == "" && !s.roster.fault {
		if r := s.roster; !r.lost.IsZero() && time.Since(r.lost) < afterLoss {
			s.restartFor("it did not recover from the loss of worker " + r.whose)
			return
		}
		if len(s.unsure) == 0 && s.links.Alive(ctx) {
			return
		}
		select {
		case shot := <-s.pods:
			s.onPods(shot, time.Now())
		case <-s.links.Changed:
			s.review(time.Now())
		case <-time.After(time.Second):
			s.review(time.Now())
		case sig := <-s.signals:
			if fleet.ToldWhileWaiting(sig) != nil {
				s.ending.onStopLate()
				return
			}
		case <-ctx.Done():
			if s.loseSilent(s.links.Standings()); s.tally.AnyLost() {
				s.restartFor("a worker was lost")
			}
			return
		}
	}
}

// departing returns the workers of an elastic attempt that are leaving.
func (s elastic) departing() map[string]bool {
	going := map[string]bool{}
	for _, w := range s.roster.Workforce.All() {
		going[w.Name] = !slices.ContainsFunc(s.roster.Workforce.Present(), func(p rendezvous.Worker) bool { return fleet.Same(p, w) })
	}
	return going
}

// overrule implements membership. It overrules an attempt that had too few workers for too long, or
// whose worker ended by itself.
func (s elastic) overrule(stopped bool, lost []verdict.Lost) (v verdict.Verdict, overruled bool) {
	switch {
	case s.ending.phase.told():
	case s.roster.late != "":
		s.ending.onStopLate()
		return verdict.Verdict{Code: names.ExitDeadline, Why: s.roster.late}, true
	case s.roster.fault && stopped && len(lost) > 0:
		return verdict.Verdict{Code: names.ExitHopeless, Why: "worker " + lost[0].Worker + " lost: " + lost[0].Cause}, true
	}
	return v, false
}
