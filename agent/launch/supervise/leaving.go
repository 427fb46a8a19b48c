//go:build linux

package supervise

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/rendezvous"
)

// lostLink returns the loss of a worker as its link reports it.
func lostLink(worker string, err error) verdict.Lost {
	var d *fleet.Departure
	return verdict.Lost{Worker: worker, Cause: fleet.CauseOf(err), Leaving: fleet.KindOf(err) == link.Ending || errors.As(err, &d)}
}

// lostPod returns the loss of a worker as its pod reports it.
func lostPod(r rendezvous.Reason) verdict.Lost {
	return verdict.Lost{Worker: r.Pod, Cause: causeIn(r), Starved: r.Code == rendezvous.OOMKilled, Leaving: isLeaving(r)}
}

// isLeaving reports whether the pod is being taken away, by a drain, an eviction, a preemption or
// its deletion. It then has its grace period.
func isLeaving(r rendezvous.Reason) bool {
	return slices.Contains([]rendezvous.Code{rendezvous.Preempted, rendezvous.Evicted, rendezvous.Terminating}, r.Code)
}

// Going returns the workers that are gone according to their pods' status, or that are being taken
// away. While the API server does not answer, pods that it was about to take away still go.
func Going(workers []rendezvous.Worker, shot rendezvous.Snapshot) map[string]bool {
	going := map[string]bool{}
	if shot.At.IsZero() {
		return going // no cluster, or no snapshot yet
	}
	answers := shot.Err == nil
	shot.Err = nil
	for _, loss := range rendezvous.Lost(workers, shot, time.Now()) {
		going[loss.Worker.Name] = loss.Gone && answers || isLeaving(loss.Reason)
	}
	return going
}

// noteLeaving records which workers are being taken away, and by what. While the API server does not
// answer, what it said last holds.
func (s *Supervisor) noteLeaving() {
	if s.last.At.IsZero() || s.last.Err != nil {
		return
	}
	s.taken = nil
	for _, loss := range rendezvous.Lost(s.started, s.last, time.Now()) {
		if isLeaving(loss.Reason) {
			s.taken = append(s.taken, loss.Worker.Name)
			s.takenBy[loss.Worker.Name] = causeIn(loss.Reason)
		}
	}
	s.leaving.Store(len(s.taken) > 0)
}

// NotePreempted records the workers whose pods are being taken away. They are the cause of current
// failures, whichever process fails first.
func (s *Supervisor) NotePreempted() {
	for _, worker := range s.taken {
		s.tally.Preempt(worker)
	}
}

// GoneBy says what takes the worker's pod away, according to its current or an earlier status. It
// returns "" if that is unknown.
func (s *Supervisor) GoneBy(worker string) string { return s.takenBy[worker] }

// unexplained reports whether a worker was told to stop and the status of its pod has not explained
// it.
func (s *Supervisor) unexplained() bool {
	return !s.last.At.IsZero() && slices.ContainsFunc(s.started, func(w rendezvous.Worker) bool {
		return s.tally.IsLeaving(w.Name) && s.GoneBy(w.Name) == "" && !s.known(w.Name)
	})
}

// restartFor ends the command so that it restarts, and keeps the reason for the message about the
// restart. This does not count against --max-restarts. A command that was stopped for another reason,
// such as a hang, restarts only if the policy says so.
func (s *Supervisor) restartFor(why string) (changed bool) {
	if s.RestartFor != "" || s.ending.phase.told() || s.Hung != "" || s.Refused != "" {
		return false
	}
	s.RestartFor = why
	return s.ending.onRestart(s.cfg.Grace)
}

// causeIn returns the sentence of a reason without the pod's name in front, which our message
// already has.
func causeIn(r rendezvous.Reason) string {
	if rest, ok := strings.CutPrefix(r.Sentence, r.Pod+": "); ok {
		return rest
	}
	return r.Sentence
}
