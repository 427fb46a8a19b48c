//go:build linux

package supervise

import (
	"context"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/launch/wait"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// causeWait is how long to wait for the cause of a loss after a command has ended. A pod's
	// status may explain it, or a worker that is going down may be lost.
	causeWait = 5 * time.Second
	// verdictWait is how long the launcher of a failed command searches for a worker that gives no
	// sign of life. mpirun often notices a loss before the API server, whose kubelets may take
	// seconds. The end of the job is delayed by as much.
	verdictWait = 10 * time.Second
)

func (s *Supervisor) begin() {
	s.unsure, s.warned, s.woken = map[string]suspicion{}, map[string]bool{}, map[string]time.Time{}
	s.illnesses, s.takenBy = map[int]*illness{}, map[string]string{}
	s.noteLeaving()
}

// Watch returns when the command has ended, and brings it to its end if necessary. It kills the
// command when ctx ends.
func (s *Supervisor) Watch(ctx context.Context) {
	s.Hang.Begin()
	defer s.Hang.End()
	s.Progress.Begin()
	defer s.Progress.End()
	s.beginSizes(time.Now())
	defer s.finish()
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	rearm := func(changed bool) {
		s.recordStop()
		if wait := s.ending.wait(); changed && wait >= 0 {
			due.Reset(wait)
		}
	}
	looking, stop := context.WithCancel(ctx)
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	pace := wait.NewPace(s.links.Changed)
	defer pace.Stop()
	rearm(s.membership.incomplete() && s.ending.onLost(s.cfg.Grace))
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
			rearm(s.onProgressDue(looking, time.Now()))
		case <-s.Progress.Told():
			rearm(s.onProgressTold(looking, time.Now()))
		case found := <-s.Living.told():
			rearm(s.onLiving(found, time.Now()))
		case <-s.Network.Told():
			rearm(s.onFallback())
		case <-tick.C:
			s.onSteps(looking, time.Now())
			rearm(s.onTick(time.Now()))
		case places := <-s.Slow.told():
			s.onStragglers(places)
		case <-ctx.Done():
			s.Command.Signal(syscall.SIGKILL)
			<-s.Command.Done()
			return
		}
	}
}

// onTick checks everything that changes without an event.
func (s *Supervisor) onTick(now time.Time) (changed bool) {
	// A lost node sends nothing new, so look at the same pods again, with a later time.
	changed = s.onPods(s.last, now)
	s.settle(now)
	s.onSizes(now)
	if s.Spare != nil {
		s.Spare(s.last)
	}
	if (s.strict() || s.script() && s.tally.Launches() > 0) && s.Reporting() {
		s.tally.Stalled()
	}
	s.Alone.Look(now, s.tally.SessionCount())
	return s.onTrouble(now) || changed
}

// onLinks checks for links that are lost for good.
func (s *Supervisor) onLinks(now time.Time) (changed bool) { return s.membership.lostLinks(now) }

// onPods checks for pods that are gone, and for lost nodes.
func (s *Supervisor) onPods(shot rendezvous.Snapshot, now time.Time) (changed bool) {
	s.last = shot
	s.noteLeaving()
	return s.membership.lostPods(shot, now)
}

// wake wakes a parked link if the worker's pod looks lost, once each time that the link was parked.
// A parked link would never report anything. A worker whose pod is being taken away could not
// report its daemons either.
func (s *Supervisor) wake(worker string, st fleet.Standing, r rendezvous.Reason) {
	if !st.State.Parked || !suspect(r) && !isLeaving(r) || s.woken[worker].Equal(st.State.Since) {
		return
	}
	s.woken[worker] = st.State.Since
	st.Link.Wake()
}

// Silent returns the workers that cannot be told anything: their links are down, and their nodes do
// not answer the API server either.
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

// suspect reports whether a lost node makes its pods look like this.
func suspect(r rendezvous.Reason) bool {
	return r.Code == rendezvous.NodeLost || r.Code == rendezvous.NotReady
}

// nodeLost reports whether to give up on a worker's node: its link and its pod's Ready condition
// have both been down for limit. If we had to wake a parked link, or the pod was already replaced,
// limit/3 of link downtime is enough. A parked link is no evidence.
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

// settle accepts the cause that a link gave if the pod's status has not explained more in time.
func (s *Supervisor) settle(now time.Time) { s.membership.settleLinks(now) }

// mostNamedLost is how many lost workers of an attempt are named. A switch or a rack that fails takes
// hundreds of them.
const mostNamedLost = 10

// lose records and prints the loss of a worker. It returns true if that changed how the command is
// to end.
func (s *Supervisor) lose(l verdict.Lost) bool {
	l.Leaving = l.Leaving || s.unsure[l.Worker].lost.Leaving
	delete(s.unsure, l.Worker)
	if nth := s.tally.Lose(l); nth > 0 {
		s.record.Worker(event.WorkerLost, l.Worker, s.nodeOf(l.Worker), l.Cause)
		switch {
		case nth <= mostNamedLost:
			s.voice.Warn("worker %s lost: %s", l.Worker, l.Cause)
		case nth == mostNamedLost+1:
			s.voice.Warn("more workers are lost; the end of this attempt gives their number")
		}
	}
	return !s.Group && s.ending.onLost(s.cfg.Grace)
}

func (s *Supervisor) known(worker string) bool { return s.tally.IsLost(worker) }

// Attend watches the workers without a command until done has a value. Then ended is true, and err
// is that value. Otherwise err says why the wait ended: a signal, or the end of ctx.
func (s *Supervisor) Attend(ctx context.Context, done <-chan error) (ended bool, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	pace := wait.NewPace(s.links.Changed)
	defer pace.Stop()
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
		case <-pace.Due():
			now := time.Now()
			s.onLinks(now)
			pace.Looked(now)
		case <-pace.Over():
			pace.Resume()
		case <-tick.C:
			s.onPods(s.last, time.Now())
			s.settle(time.Now())
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
