//go:build linux

package launch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/report"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// end says how the attempt ended, for the decision about a restart.
func (a *attempt) end() retry.End {
	e := retry.End{Code: a.verdict.Code, Why: a.verdict.Why, Lasted: a.ran, OOM: len(a.evidence.Starved) > 0, Stalled: a.stalled()}
	lost := a.evidence.Lost
	if a.command == nil {
		lost = lostOf(lost, a.plan)
	}
	leaving := a.evidence.Leaving
	for _, l := range lost {
		e.Lost, e.OOM = true, e.OOM || l.Starved
		if l.Leaving {
			leaving = append(leaving, l.Worker)
		}
	}
	if r := a.evidence.Ranks; e.Code == verdict.HydraGaveUp && len(r) > 0 && verdict.Killed(r[0].Signal) && len(a.evidence.Unseen) == 0 {
		e.Code = r[0].Code // mpiexec killed all but one, and reports none
	}
	e.Preflight = a.unfit != nil
	e.Infra = a.infra() || verdict.HydraBroke(a.evidence)
	if len(leaving) > 0 {
		e.Preempted = true
		told := fmt.Sprintf("worker %s was told to stop from outside", leaving[0])
		if by := a.watcher.GoneBy(leaving[0]); by != "" {
			told += ": " + by
		}
		if a.result.Cause == nil || a.result.Cause.Exit.Reason != wire.ReasonPreempted {
			e.Why = strings.TrimSuffix(told+"; "+e.Why, "; ")
		}
	}
	if a.watcher.RestartFor != "" {
		e.Asked, e.Why = true, a.watcher.RestartFor
	}
	return e
}

// stalled reports whether we ended the attempt because it broke a progress rule.
func (a *attempt) stalled() bool {
	return a.verdict.Code == names.ExitHung && a.watcher.Stalled != nil
}

// infra reports whether the connection to a worker failed, or something of ours on it, while no
// worker is known to be lost.
func (a *attempt) infra() bool {
	if a.command != nil {
		return a.evidence.Ended && a.verdict.Code == names.ExitHopeless
	}
	c := a.result.Cause
	return c == nil && a.unfit == nil && a.verdict.Code == names.ExitHopeless || c != nil && (fleet.CauseOfLost(c.Err) || c.Exit.Reason == wire.ReasonLease)
}

// record returns the entry for the attempt in the report.
func (a *attempt) record(counted bool) retry.Tried {
	t := retry.Tried{Attempt: a.number, Code: a.verdict.Code, Why: a.verdict.Why, Seconds: a.ran.Seconds(), Port: a.port, Counted: counted}
	t.Worker, t.Rank = a.origin()
	if a.verdict.Code != 0 && a.watcher.Told() == 0 || a.watcher.RestartFor != "" {
		t.Why = a.end().Why
	}
	return t
}

// origin returns where a failure began, as far as it is known.
func (a *attempt) origin() (worker, rank string) {
	e := a.evidence
	trouble, ill := verdict.Cause(e.Troubles)
	culprit, found := verdict.Blame(e)
	starved, isKnown := verdict.StarvedRank(e)
	switch {
	case len(a.unfit) > 0:
		return a.unfit[0], ""
	case a.stalled():
		return a.guilty(*a.watcher.Stalled), *a.watcher.Stalled
	case a.verdict.Code == 0, ill && trouble.Likely == verdict.OfHost && len(e.Lost) == 0:
		return "", ""
	case a.result.Cause != nil:
		return a.result.Cause.Worker, a.result.Cause.Label
	case len(e.Lost) > 0:
		return e.Lost[0].Worker, ""
	case isKnown:
		return starved.Worker, rankIn(starved.What)
	case len(e.Starved) > 0:
		return e.Starved[0], ""
	case found:
		return culprit.Worker, rankIn(culprit.What)
	}
	if s, failed := verdict.FirstFailed(e); failed {
		return s.Bad[0].Worker, ""
	}
	return "", ""
}

// guilty returns the worker of the rank that broke a progress rule. It returns "" if the rank is not
// at fault, or if a command in the launcher has started it.
func (a *attempt) guilty(rank string) string {
	for _, p := range a.plan.Processes {
		if a.watcher.Guilty && p.Label == rank {
			return a.plan.Hosts[p.Worker].Name
		}
	}
	return ""
}

// rankIn returns "rank 3" if the description of a rank's end begins with it, else "".
func rankIn(what string) string {
	var n int
	if _, err := fmt.Sscanf(what, "rank %d", &n); err != nil {
		return ""
	}
	return fmt.Sprintf("rank %d", n)
}

// groupEnd returns the part of a group's result that the verdict depends on.
func groupEnd(r group.Result) verdict.GroupEnd {
	end := verdict.GroupEnd{Code: r.Code, Others: r.Others, Stopped: r.Stopped}
	if c := r.Cause; c != nil {
		end.Cause = &verdict.GroupFailure{Worker: c.Worker, Sentence: c.Sentence(), Preempted: c.Exit.Reason == wire.ReasonPreempted, OfLost: fleet.CauseOfLost(c.Err)}
	}
	return end
}

// noteStopped reports how the ranks that were asked to end have ended. It also prints that if a
// signal, or a worker that was told to stop, was the reason.
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
	if s := a.watcher; (s.Told() != 0 || s.GoesDown()) && len(ended) > 0 {
		r.voice.Say("%s", reap.Stopped(ended, cmp.Or(s.What, "rank")))
	}
}

// noteStragglers adds the stragglers of an attempt to the report.
func (r *runner) noteStragglers(a *attempt) {
	for _, one := range a.watcher.Stragglers {
		one.Attempt = a.number
		r.report.Stragglers = append(r.report.Stragglers, one)
	}
}

// noteHang sets the verdict of an attempt that we ended because it hung or broke a progress rule.
func (r *runner) noteHang(a *attempt) {
	s := a.watcher
	r.report.Hangs += s.Hangs
	for _, one := range s.Blames {
		one.Attempt = a.number
		r.report.Blames = append(r.report.Blames, one)
	}
	for _, one := range s.Stalls {
		one.Attempt = a.number
		r.report.Stalls = append(r.report.Stalls, one)
	}
	if s.Hung != "" && s.Told() == 0 {
		a.evidence.Code, a.verdict = names.ExitHung, verdict.Verdict{Code: names.ExitHung, Why: s.Hung}
	}
	r.noteNetwork(a)
}

// noteNetwork sets the verdict of an attempt that we ended because NCCL fell back to sockets. It warns
// if --require-rdma could not be checked.
func (r *runner) noteNetwork(a *attempt) {
	s := a.watcher
	r.fellBack = r.fellBack || s.FellBack
	switch {
	case s.Refused != "" && s.Told() == 0:
		a.evidence.Code, a.verdict = names.ExitHopeless, verdict.Verdict{Code: names.ExitHopeless, Why: s.Refused}
	case a.verdict.Code == 0 && a.network.Unchecked():
		r.voice.Warn("--require-rdma was not checked: NCCL named no network in the output")
		r.voice.Hint("NCCL_DEBUG=INFO makes NCCL print it to standard output; Open MPI's ranks need -x NCCL_DEBUG=INFO, or the variable in the workers' pods")
	}
}

// tellBystanders says which rank the failed rank was waiting for.
func (r *runner) tellBystanders(a *attempt) {
	if a.verdict.Code == 0 {
		return
	}
	sentence, lines := a.watcher.Bystanders.Blame(a.evidence, a.words.Last())
	if len(lines) == 0 {
		return
	}
	r.report.Blames = append(r.report.Blames, report.Blame{Attempt: a.number, When: "failure", Sentence: sentence})
	for _, line := range lines {
		r.voice.Warn("%s", line)
	}
}
