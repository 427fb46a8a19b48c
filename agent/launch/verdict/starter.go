package verdict

import (
	"fmt"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// judgeStarters rejects the 0 of a command that is or has started a launcher such as deepspeed, if
// a session of that launcher failed. It skips launchers that the command went on from, as for
// mpiruns.
func judgeStarters(e Evidence) Verdict {
	for _, s := range e.Starters {
		switch {
		case s.Passed:
		case len(s.Bad) > 0:
			return Verdict{codeOf(s.Bad[0]), e.Name + " exited with 0, but " + whose(e, s) + saysBad(s.Bad)}
		case s.Code != 0:
			return Verdict{s.Code, fmt.Sprintf("%s exited with 0, but %s %s", e.Name, s.Name, phrase.HowEnded(s.Code, s.Signal))}
		}
	}
	if e.Remote {
		return judgeIdle(e)
	}
	return Verdict{}
}

// judgeIdle rejects the 0 of a launcher that has started nothing on a worker.
func judgeIdle(e Evidence) Verdict {
	if e.Workers == 0 || e.Opened > 0 || e.Inquiry {
		return Verdict{}
	}
	return Verdict{names.ExitHopeless, fmt.Sprintf("%s exited with 0, but it started nothing on %s: everything ran in the launcher",
		e.Name, allWorkers(e.Workers))}
}

// FirstFailed returns the first launcher such as deepspeed with a failed session on a worker. It
// returns false if there is none.
func FirstFailed(e Evidence) (StarterEnd, bool) {
	for _, s := range e.Starters {
		if !s.Passed && len(s.Bad) > 0 && s.Bad[0].Worker != "" {
			return s, true
		}
	}
	return StarterEnd{}, false
}

// failedOrder describes that session, to precede the command's exit code; "" if there is none.
func failedOrder(e Evidence) string {
	s, found := FirstFailed(e)
	if !found {
		return ""
	}
	return fmt.Sprintf("worker %s: %ssession %s; ", s.Bad[0].Worker, whose(e, s), s.Bad[0].What)
}

// whose returns "its " for the command's own sessions, or else the launcher's name.
func whose(e Evidence, s StarterEnd) string {
	if s.Name == e.Name {
		return "its "
	}
	return s.Name + "'s "
}

// saysBad describes the first of several failed sessions, and how many more there are.
func saysBad(bad []BadSession) string {
	b, why := bad[0], ""
	if b.Worker == "" {
		why = "call reached no worker: " + b.What
	} else {
		why = fmt.Sprintf("session on worker %s %s", b.Worker, b.What)
	}
	if n := len(bad) - 1; n > 0 {
		why += fmt.Sprintf(" (and %s)", phrase.Count(n, "more session"))
	}
	return why
}

// codeOf returns the exit code of a run that fails because of this session.
func codeOf(b BadSession) int {
	if b.Code < 1 || b.Code > 255 {
		return 1
	}
	return b.Code
}
