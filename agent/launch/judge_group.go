package launch

import (
	"errors"
	"fmt"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

// JudgeGroup decides the exit code of a group, told being the signal that told
// us to stop, 0 if none, and lost the workers of the group that were lost.
//
// Told to stop is 128+n. A group that has failed and lost a worker has failed
// because of that (76): processes fail when a peer is gone, and a worker seldom
// goes because a process failed. Else the code is that of the first failure.
// --exit is for commands in the launcher: nobody else's word is to be doubted
// here.
func JudgeGroup(told int, r group.Result, lost []Lost) Verdict {
	switch {
	case told != 0:
		return Verdict{128 + told, fmt.Sprintf("told to stop by %s", signalName(told))}
	case r.Cause == nil && r.Stopped && len(lost) > 0:
		return Verdict{names.ExitHopeless, fmt.Sprintf("worker %s lost: %s", lost[0].Worker, lost[0].Cause)}
	case r.Cause == nil && r.Stopped:
		return Verdict{names.ExitBug, "the group was stopped, and nobody knows why"}
	case r.Cause == nil:
		return Verdict{}
	case len(lost) > 0:
		why := fmt.Sprintf("worker %s lost: %s", lost[0].Worker, lost[0].Cause)
		if n := len(lost) - 1; n > 0 {
			why += fmt.Sprintf(" (and %s)", count(n, "more worker"))
		}
		if r.Cause.Exit.Reason == wire.ReasonPreempted && r.Cause.Worker == lost[0].Worker {
			return Verdict{names.ExitHopeless, "worker " + lost[0].Worker + " was told to stop from outside"}
		}
		if !causeOfLost(r.Cause.Err) {
			why += "; " + r.Cause.Sentence()
		}
		return Verdict{names.ExitHopeless, why}
	}
	return Verdict{r.Code, r.Cause.Sentence() + besides(r.Others)}
}

// causeOfLost: the error is that of a worker that is lost.
func causeOfLost(err error) bool {
	var lost *link.LostError
	return errors.As(err, &lost)
}

func besides(others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more failed)", others)
}
