//go:build linux

package launch

import (
	"cmp"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// onSignal says whether a signal changed how the command is to end.
func (s *supervisor) onSignal(sig os.Signal) (changed bool) {
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
		s.voice.Say("%s again: killing %s", phrase.SignalName(int(n)), s.name)
	}
	return changed
}

// pass gives the command a signal: one that a KILL is due after is a stop. It returns what
// running.stop does.
func (s *supervisor) pass(sig syscall.Signal) (ranks int, later <-chan int) {
	if grace := s.ending.wait(); grace > 0 && (sig == syscall.SIGTERM || sig == syscall.SIGINT) {
		return s.cmd.Stop(sig, grace, s.ending.phase.lost() || s.ending.phase.ill())
	}
	s.cmd.Signal(sig)
	return 0, nil
}

// sayStopping says what the first signal that told us to stop does.
func (s *supervisor) sayStopping(ranks int) {
	s.counted = nil
	second := "; a second one kills at once"
	if !s.ending.phase.told() {
		second = "" // no signal was the first
	}
	s.voice.Say("%s: %s%s", s.why(), s.stopping(ranks), second)
}

// finish ends a watch.
func (s *supervisor) finish() {
	s.rest.end()
	s.sayCounted()
}

// sayCounted is sayStopping for a command that has ended, if it was not said before.
func (s *supervisor) sayCounted() {
	select {
	case n := <-s.counted:
		s.sayStopping(n)
	default:
	}
}

// stopping says what a stop does. ranks is how many are asked; 0: it is not known.
func (s *supervisor) stopping(ranks int) string {
	whom := s.name
	if s.starter != "" {
		whom = s.starter + " on " + phrase.Count(len(s.started), "worker")
	} else if ranks > 0 {
		whom = reap.Count(ranks, s.whatOf())
	}
	text := reap.Stopping(whom, s.graceNow())
	if s.ending.phase.told() && !s.cfg.Given("grace") && !s.cfg.HasPodGrace() {
		text += " (the default of --grace)"
	}
	return text
}

func (s *supervisor) whatOf() string { return cmp.Or(s.what, "rank") }

// whatOf is what sentences call the members: ranks if they are numbered so.
func whatOf(members []group.Member) string {
	for _, m := range members {
		if !strings.HasPrefix(m.Label, "rank ") {
			return "process"
		}
	}
	return "rank"
}

// stoppedOf are the ranks of a member that was asked to end, or whose worker was: the member
// itself, or the ranks that a launcher such as torchrun has started.
func stoppedOf(e group.End, g *group.Group) (all []report.StoppedRank) {
	preempted := e.Exit.Reason == wire.ReasonPreempted
	if e.Err != nil || e.Asked.IsZero() && !preempted {
		return nil
	}
	label, worker := g.Label(e.Member), g.Worker(e.Member)
	lives := false
	for _, r := range e.Exit.Asked {
		if r.Rank != "" {
			lives = lives || r.Lives
			all = append(all, report.StoppedRank{Rank: "rank " + r.Rank, Worker: worker, Seconds: float64(r.AfterMillis) / 1000, Killed: r.Killed})
		}
	}
	if len(all) > 1 || len(all) == 1 && (all[0].Rank != label || e.Asked.IsZero()) {
		return all
	}
	s := report.StoppedRank{Rank: label, Worker: worker, Killed: e.Exit.Signal == int(syscall.SIGKILL) && e.Exit.OOM == 0}
	if !e.Asked.IsZero() {
		s.Seconds = max(0, e.At.Sub(e.Asked).Seconds())
	}
	if len(all) == 1 && !all[0].Killed && !lives && !s.Killed {
		s.Seconds = min(s.Seconds, all[0].Seconds) // its launcher may have been held
	}
	return []report.StoppedRank{s}
}

// noteStopped reports how the ranks of an attempt have ended that were asked to, and says
// so if a signal, or a worker that went down, had asked.
func (r *runner) noteStopped(a *attempt, all []report.StoppedRank) {
	var ended []reap.Ended
	for i := range all {
		all[i].Attempt = a.number
		name := all[i].Rank
		if all[i].Worker != "" {
			name += " on " + all[i].Worker
		}
		ended = append(ended, reap.Ended{Name: name, After: time.Duration(all[i].Seconds * float64(time.Second)), Killed: all[i].Killed, Unknown: all[i].Unknown})
	}
	r.report.Stopped = append(r.report.Stopped, all...)
	if s := a.watcher; (s.ending.phase.told() || s.goingDown != nil) && len(ended) > 0 {
		r.voice.Say("%s", reap.Stopped(ended, a.watcher.whatOf()))
	}
}
