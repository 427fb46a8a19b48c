package verdict

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// GroupEnd is how a group of processes on the workers ended.
type GroupEnd struct {
	Code    int           // 0, or the code of the first failure; also 0 if it was told to stop
	Cause   *GroupFailure // nil: no process failed
	Others  int           // other processes that failed by themselves
	Stopped bool          // it was told to stop, or a worker that left was
}

// GroupFailure is the first failure of a group.
type GroupFailure struct {
	Worker    string
	Sentence  string // what failed and how
	Preempted bool   // the worker was told to stop from outside
	OfLost    bool   // the failure is the loss of the worker
}

// JudgeGroup decides the exit code of a group. told is the signal that told the launcher to stop; 0
// if none. lost are the workers of the group that were lost.
//
// A group that was told to stop gives 128+n. A group that has failed and lost a worker gives 76:
// processes fail when a peer is gone, and a worker is seldom lost because a process failed.
// Otherwise the code is that of the first failure. --exit is for commands in the launcher: a group
// has no launcher whose code needs checking.
func JudgeGroup(told int, r GroupEnd, lost []Lost) Verdict {
	switch {
	case told != 0:
		return Verdict{128 + told, fmt.Sprintf("told to stop by %s", phrase.SignalName(told))}
	case r.Cause == nil && r.Stopped && len(lost) > 0:
		return Verdict{names.ExitHopeless, fmt.Sprintf("worker %s lost: %s", lost[0].Worker, lost[0].Cause)}
	case r.Cause == nil && r.Stopped:
		return Verdict{names.ExitBug, "the group was stopped for an unknown reason"}
	case r.Cause == nil:
		return Verdict{}
	case len(lost) > 0:
		why := fmt.Sprintf("worker %s lost: %s", lost[0].Worker, lost[0].Cause)
		if n := len(lost) - 1; n > 0 {
			why += fmt.Sprintf(" (and %s)", phrase.Count(n, "more worker"))
		}
		if r.Cause.Preempted && r.Cause.Worker == lost[0].Worker {
			return Verdict{names.ExitHopeless, fmt.Sprintf("worker %s was told to stop from outside", lost[0].Worker)}
		}
		if !r.Cause.OfLost {
			why += "; " + r.Cause.Sentence
		}
		return Verdict{names.ExitHopeless, why}
	}
	return Verdict{r.Code, r.Cause.Sentence + Besides(r.Others)}
}

// Besides returns " (and 2 more failed)", or "" for none.
func Besides(others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more failed)", others)
}
