//go:build linux

package supervise

import (
	"context"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// causeWait is how long the cause of a loss is waited for when a command has ended: a
	// pod's status may say it, or a worker that is going down may be lost.
	causeWait = 5 * time.Second
	// verdictWait is how long a failed command's launcher looks for a worker
	// that gives no sign of life: mpirun often notices before the API server tells
	// us, whose kubelets may take seconds. The end of the job waits for it as long.
	verdictWait = 10 * time.Second
)

func (s *Supervisor) begin() {
	s.unsure, s.warned, s.woken = map[string]suspicion{}, map[string]bool{}, map[string]time.Time{}
	s.illnesses, s.takenBy = map[int]*illness{}, map[string]string{}
}

// Watch returns when the command has ended, having brought it there where that
// was needed. When ctx ends it is killed.
func (s *Supervisor) Watch(ctx context.Context) {
	s.Hang.Begin()
	defer s.Hang.End()
	s.Progress.Begin()
	defer s.Progress.End()
	defer s.finish()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	rearm := func(changed bool) {
		if wait := s.ending.wait(); changed && wait >= 0 {
			due.Reset(wait)
		}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	pace := wait.NewPace(s.links.Changed)
	defer pace.Stop()
	rearm(s.members.incomplete() && s.ending.onLost(s.cfg.Grace))
	for {
		select {
		case <-s.Command.Done():
			return
		case n := <-s.counted:
			s.sayStopping(n)
		case sig := <-s.signals:
			rearm(s.onSignal(sig))
		case <-due.C:
			if sig, ok := s.ending.next(); ok {
				s.pass(sig)
				rearm(true)
			}
		case shot := <-s.pods:
			rearm(s.onPods(shot, time.Now()))
		case <-pace.Due():
			now := time.Now()
			rearm(s.onGoingDown(now) || s.onLinks(now) || s.onTrouble(now))
			pace.Looked(now)
		case <-pace.Over():
			pace.Resume()
		case h := <-s.Hang.Tell():
			rearm(s.onHang(h))
		case <-s.Bystanders.due():
			s.onFailedRank(ctx)
		case <-s.Rest.ended():
			s.onFinished()
		case h := <-s.Rest.tell():
			s.onRest(h)
		case <-s.Rest.due():
			rearm(s.onRestDue())
		case <-s.Progress.Due():
			rearm(s.onProgressDue(time.Now()))
		case <-s.Progress.Told():
			rearm(s.onProgress(time.Now()))
		case <-tick.C:
			rearm(s.onTick(time.Now()))
		case <-ctx.Done():
			s.Command.Signal(syscall.SIGKILL)
			<-s.Command.Done()
			return
		}
	}
}

// onTick looks at what changes without news.
func (s *Supervisor) onTick(now time.Time) (changed bool) {
	// A node that is lost sends nothing new: the same pods, seen later.
	changed = s.onPods(s.last, now)
	s.settle(now)
	if (s.strict() || s.script() && s.tally.Launches() > 0) && s.Reporting() {
		s.tally.Stalled()
	}
	s.Alone.Look(now, s.tally.SessionCount())
	return s.onTrouble(now) || changed
}

// onLinks looks for links that are lost for good.
func (s *Supervisor) onLinks(now time.Time) (changed bool) { return s.members.lostLinks(now) }

// onPods looks for pods that are gone, and for nodes that are.
func (s *Supervisor) onPods(shot rendezvous.Snapshot, now time.Time) (changed bool) {
	s.last = shot
	s.noteLeaving()
	return s.members.lostPods(shot, now)
}

// wake asks a parked link, once each time that it is parked, whether a worker
// whose pod looks lost is there: parked, it would never tell. Nor would one that is being taken
// away tell that it holds daemons.
func (s *Supervisor) wake(worker string, st fleet.Standing, r rendezvous.Reason) {
	if !st.State.Parked || !suspect(r) && !isLeaving(r) || s.woken[worker].Equal(st.State.Since) {
		return
	}
	s.woken[worker] = st.State.Since
	st.Link.Wake()
}

// Silent are the workers that nothing can be told to: their links are down, and
// their nodes do not answer the API server either.
func (s *Supervisor) Silent() map[string]bool {
	all := map[string]bool{}
	if s.last.At.IsZero() {
		return all
	}
	standings := s.links.Standings()
	for _, loss := range rendezvous.Lost(s.started, s.last, time.Now()) {
		if !standings[loss.Worker.Name].State.Connected && loss.Reason.Code == rendezvous.NodeLost {
			all[loss.Worker.Name] = true
		}
	}
	return all
}

// suspect: a node that is lost makes its pods look so.
func suspect(r rendezvous.Reason) bool {
	return r.Code == rendezvous.NodeLost || r.Code == rendezvous.NotReady
}

// nodeLost: the API server answers, and for a time, limit, both the link has been down and the
// pod not ready. A link that was parked has been seen down only since it was woken, which is when the pod
// looked lost already: a third of the time is for it, not one time in full after the other. The same third is all
// for a pod that whoever made it has replaced. A parked link proves nothing.
func nodeLost(s link.State, loss rendezvous.Loss, woken bool, limit time.Duration, now time.Time) bool {
	if s.Connected || s.Parked || !suspect(loss.Reason) {
		return false
	}
	down := limit
	if woken || loss.Replaced {
		down = limit / 3
	}
	since := loss.Reason.Since
	return now.Sub(s.Since) >= down && (loss.Replaced || since.IsZero() || now.Sub(since) >= limit)
}

// settle names the cause that the link gave where the pod's status has not said
// more in time.
func (s *Supervisor) settle(now time.Time) { s.members.settleLinks(now) }

// lose puts a lost worker on record and says so; true when that changed how the
// command is to end.
func (s *Supervisor) lose(l verdict.Lost) bool {
	l.Leaving = l.Leaving || s.unsure[l.Worker].lost.Leaving
	delete(s.unsure, l.Worker)
	if s.tally.Lose(l) {
		s.voice.Warn("worker %s lost: %s", l.Worker, l.Cause)
	}
	return !s.Group && s.ending.onLost(s.cfg.Grace)
}

func (s *Supervisor) known(worker string) bool { return s.tally.IsLost(worker) }

// Attend looks after the workers of no command until done has a value, and returns that:
// ended. Otherwise err is why it did not wait: a signal, or the end of ctx.
func (s *Supervisor) Attend(ctx context.Context, done <-chan error) (ended bool, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return true, err
		case sig := <-s.signals:
			if err := fleet.ToldWhileWaiting(sig); err != nil {
				return false, err
			}
		case shot := <-s.pods:
			s.onPods(shot, time.Now())
		case <-s.links.Changed:
			s.onLinks(time.Now())
		case <-tick.C:
			s.onPods(s.last, time.Now())
			s.settle(time.Now())
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
