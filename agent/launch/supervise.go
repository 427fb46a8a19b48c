//go:build linux

package launch

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// statusWait is how long the pod's status may take to say why a link is
	// lost: OOMKilled is a better answer than "the container was restarted".
	statusWait = 5 * time.Second
	// verdictWait is how long a failed command's launcher looks for a worker
	// that gives no sign of life: mpirun often notices before the API server tells
	// us, whose kubelets may take seconds. The end of the job waits for it as long.
	verdictWait = 10 * time.Second
)

// running is the user's command, here or as a group on the workers.
type running interface {
	done() <-chan struct{}
	signal(sig syscall.Signal)
	// stop asks for the end with sig, for a KILL after grace. It returns the number of ranks
	// that are asked; 0: sentences have the command's name. later gets the number if it is not
	// known yet. failed: the command has failed already, and its launcher ends its ranks.
	stop(sig syscall.Signal, grace time.Duration, failed bool) (number int, later <-chan int)
	// leave is stop with SIGTERM because that worker was told to stop from outside.
	leave(worker string, grace time.Duration) (number int, later <-chan int)
}

// supervisor watches the command, the workers and the signals of one run.
type supervisor struct {
	cfg  Config
	cmd  running
	name string // of the command, for sentences
	// group: the command is one that notices lost workers, and knows what they
	// mean for it.
	group  bool
	spares bool   // it goes on when some of its processes have failed
	what   string // its processes are, for sentences: "rank"; "": rank
	// starter is the launcher, such as torchrun, that each of the processes is; "": they are ranks.
	starter string
	links   *links
	tally   *tally
	voice   *voice
	pods    <-chan rendezvous.Snapshot // nil without a cluster
	signals <-chan os.Signal
	started []rendezvous.Worker
	hang    *hangWatch // nil: nobody looks for hangs
	rest    *leftover  // what ranks that ended with 0 have left running
	// progress applies the rules for output lines; nil: there are none.
	progress *progressWatch
	alone    *aloneWatch
	bystand  *bystanders // takes the stacks of an mpirun's ranks when one has failed; nil: nobody does

	ending  ending
	counted <-chan int // gets how many ranks a stop asks, which is then said; nil: nothing is to be said
	last    rendezvous.Snapshot
	ended   bool // we signalled the command because a worker was lost, or of trouble
	// illAt is when the trouble came to light; announced: it was said.
	illAt     time.Time
	announced bool
	illnesses map[int]*illness // of a script's mpiruns, by their indices
	hung      string           // why we ended a run that hung, or broke a progress rule
	stalled   *string          // the rank that broke the rule for which we ended it; nil: none did
	hangs     int              // that were reported
	blames    []Blame          // by the ranks' stacks
	stalls    []Stall          // progress rules that fired
	wrongs    []wrong          // what is wrong with the run now
	trouble   func(sentence string)
	unsure    map[string]suspicion
	warned    map[string]bool
	woken     map[string]time.Time // parked links that were woken, and when they had been parked

	leaving     atomic.Bool       // the pod of a worker is being taken away
	takenBy     map[string]string // what takes away the pods of workers that are, or have been
	goingDown   *goingDown        // the worker for which the command was stopped; nil: none
	roster      *roster           // nil: the run is not elastic
	interrupted bool              // told to stop when the command had ended by itself
	anew        string            // why we ended the command ourselves, to begin it again; "": we did not
}

// suspicion is a worker whose link is lost while its pod's status still has to
// say why.
type suspicion struct {
	lost  Lost
	since time.Time
}

func (s *supervisor) begin() {
	s.unsure, s.warned, s.woken = map[string]suspicion{}, map[string]bool{}, map[string]time.Time{}
	s.illnesses, s.takenBy = map[int]*illness{}, map[string]string{}
}

// watch returns when the command has ended, having brought it there where that
// was needed. When ctx ends it is killed.
func (s *supervisor) watch(ctx context.Context) {
	s.begin()
	s.hang.begin()
	defer s.hang.end()
	s.progress.begin()
	defer s.progress.end()
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
	pace := newPace(s.links.changed)
	defer pace.stop()
	rearm(s.incomplete() && s.ending.onLost(s.cfg.Grace))
	for {
		select {
		case <-s.cmd.done():
			return
		case n := <-s.counted:
			s.sayStopping(n)
		case sig := <-s.signals:
			rearm(s.onSignal(sig))
		case <-due.C:
			if sig, ok := s.ending.next(); ok {
				s.ended = s.ended || s.ending.told == 0
				s.pass(sig)
				rearm(true)
			}
		case shot := <-s.pods:
			rearm(s.onPods(shot, time.Now()))
		case <-pace.due():
			now := time.Now()
			rearm(s.onGoingDown(now) || s.onLinks(now) || s.onTrouble(now))
			pace.looked(now)
		case <-pace.over():
			pace.resume()
		case h := <-s.hang.tell():
			rearm(s.onHang(h))
		case <-s.bystand.due():
			s.onFailedRank(ctx)
		case <-s.rest.ended():
			s.onFinished()
		case h := <-s.rest.tell():
			s.onRest(h)
		case <-s.rest.due():
			rearm(s.onRestDue())
		case <-s.progress.due():
			rearm(s.onProgressDue(time.Now()))
		case <-s.progress.told():
			rearm(s.onProgress(time.Now()))
		case <-tick.C:
			rearm(s.onTick(time.Now()))
		case <-ctx.Done():
			s.cmd.signal(syscall.SIGKILL)
			<-s.cmd.done()
			return
		}
	}
}

// onTick looks at what changes without news.
func (s *supervisor) onTick(now time.Time) (changed bool) {
	// A node that is lost sends nothing new: the same pods, seen later.
	changed = s.onPods(s.last, now)
	s.settle(now)
	if (s.strict() || s.script() && s.tally.launches() > 0) && s.reporting() {
		s.tally.stalled()
	}
	s.alone.look(now, s.tally.sessionCount())
	return s.onTrouble(now) || changed
}

// onLinks looks for links that are lost for good.
func (s *supervisor) onLinks(now time.Time) (changed bool) {
	if s.roster != nil {
		return s.review(now)
	}
	for _, st := range s.links.standings() {
		if _, known := s.unsure[st.worker.Name]; st.err == nil || known || s.known(st.worker.Name) {
			continue
		}
		s.unsure[st.worker.Name] = suspicion{lostLink(st.worker.Name, st.err), now}
		changed = !s.group && s.ending.onLost(s.cfg.Grace) || changed
	}
	if s.pods == nil {
		s.settle(now)
	}
	return changed
}

// onPods looks for pods that are gone, and for nodes that are.
func (s *supervisor) onPods(shot rendezvous.Snapshot, now time.Time) (changed bool) {
	s.last = shot
	s.noteLeaving()
	if s.roster != nil {
		s.roster.hear(shot)
		return s.review(now)
	}
	if shot.At.IsZero() {
		return false // no cluster, or nothing heard yet
	}
	losses := rendezvous.Lost(s.started, shot, now)
	if len(losses) == 0 {
		return false
	}
	standings := s.links.standings()
	for _, loss := range losses {
		name := loss.Worker.Name
		if s.known(name) {
			continue
		}
		_, woken := s.woken[name]
		if !loss.Gone && !nodeLost(standings[name].state, loss, woken, s.cfg.NodeLostAfter, now) {
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
		s.links.lose(name, errors.New(causeIn(loss.Reason)))
	}
	return changed
}

// wake asks a parked link, once each time that it is parked, whether a worker
// whose pod looks lost is there: parked, it would never tell. Nor would one that is being taken
// away tell that it holds daemons.
func (s *supervisor) wake(worker string, st standing, r rendezvous.Reason) {
	if !st.state.Parked || !suspect(r) && !isLeaving(r) || s.woken[worker].Equal(st.state.Since) {
		return
	}
	s.woken[worker] = st.state.Since
	st.link.Wake()
}

// silent are the workers that nothing can be told to: their links are down, and
// their nodes do not answer the API server either.
func (s *supervisor) silent() map[string]bool {
	all := map[string]bool{}
	if s.last.At.IsZero() {
		return all
	}
	standings := s.links.standings()
	for _, loss := range rendezvous.Lost(s.started, s.last, time.Now()) {
		if !standings[loss.Worker.Name].state.Connected && loss.Reason.Code == rendezvous.NodeLost {
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
func (s *supervisor) settle(now time.Time) {
	if s.roster != nil {
		return // see losses
	}
	for _, u := range s.unsure {
		if s.pods == nil || now.Sub(u.since) >= statusWait {
			s.lose(u.lost)
		}
	}
}

// lose puts a lost worker on record and says so; true when that changed how the
// command is to end.
func (s *supervisor) lose(l Lost) bool {
	l.leaving = l.leaving || s.unsure[l.Worker].lost.leaving
	delete(s.unsure, l.Worker)
	if s.tally.lose(l) {
		s.voice.Warn("worker %s lost: %s", l.Worker, l.Cause)
	}
	return !s.group && s.ending.onLost(s.cfg.Grace)
}

// incomplete: one of the workers was lost before the command began, after all had
// been there. No mpirun can be relied on to notice.
func (s *supervisor) incomplete() bool {
	return !s.group && s.roster == nil && slices.ContainsFunc(s.started, func(w rendezvous.Worker) bool { return s.known(w.Name) })
}

func (s *supervisor) known(worker string) bool { return s.tally.isLost(worker) }

// aftermath looks for the cause of a failure a moment longer, where a worker
// may be lost: mpirun is often the first to notice.
func (s *supervisor) aftermath(ctx context.Context, failed bool) {
	if (s.strict() || s.script() && s.tally.launchers() > 0) && s.ending.told == 0 {
		s.hearOut(ctx, failed)
	}
	s.onLinks(time.Now())
	if s.roster != nil {
		s.lastLook(ctx, failed)
		return
	}
	wait := verdictWait
	if len(s.unsure) > 0 || s.unexplained() || s.isGoing() {
		wait = statusWait
	}
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	for s.inDoubt(waiting, failed) {
		select {
		case shot := <-s.pods:
			s.onPods(shot, time.Now())
		case <-s.links.changed:
			s.onLinks(time.Now())
		case sig := <-s.signals: // told to stop while it ends anyway
			s.interrupted = s.interrupted || toldWhileWaiting(sig) != nil
			return
		case <-waiting.Done():
			for _, u := range s.unsure {
				s.lose(u.lost)
			}
			if s.isGoing() {
				s.lose(Lost{Worker: s.goingDown.worker, Cause: "it was told to stop", leaving: true})
			}
			if failed && !s.tally.anyLost() {
				s.loseSilent()
			}
			return
		}
	}
}

// inDoubt: the verdict may still change. A job that failed with all its workers
// alive has one round trip to wait.
func (s *supervisor) inDoubt(ctx context.Context, failed bool) bool {
	switch {
	case s.ending.told != 0:
		return false
	case len(s.unsure) > 0, s.unexplained(), s.isGoing():
		return true
	case !failed || s.tally.anyLost():
		return false
	}
	return !s.links.alive(ctx)
}
