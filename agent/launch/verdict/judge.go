package verdict

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// Verdict is the launcher's exit code, and the sentence that says why when
// the code is not simply the command's.
type Verdict struct {
	Code int
	Why  string
}

// Judge decides the exit code. mpirun's own code cannot be trusted: Open MPI
// 5 says 0 after it lost a daemon, MPICH 4.0 says 0 after SIGTERM, and both
// run everything on one host, and say 0, when they overlook the hostfile.
//
// In this order: told to stop is 128+n; a command that did not start is
// 126 or 127; a lost worker is 76; a code other than 0 is the command's;
// and under ExitStrict a 0 counts only when no session ended badly by itself
// or was cut off, and at least one was opened; and what PID 1 saw of daemons and
// ranks goes before the word of a command that did not notice. Under ExitScript a 0
// counts only when that is so for the last mpirun.
func Judge(e Evidence) Verdict {
	if e.Code == 0 && !e.Ended && len(e.Ranks) == 0 {
		e.Troubles = withoutLate(e.Troubles)
	}
	switch {
	case e.Told != 0:
		return Verdict{128 + e.Told, fmt.Sprintf("told to stop by %s", phrase.SignalName(e.Told))}
	case e.Start != nil:
		return Verdict{e.Code, e.Start.Error()}
	case len(e.Lost) > 0:
		return judgeLost(e)
	case e.Rule == ExitStrict && len(e.Troubles) > 0 && (e.Ended || e.Code == 0):
		return judgeTrouble(e)
	case e.Code != 0 && e.Rule == ExitStrict:
		return Verdict{ownCode(e), starvation(e) + culprit(e) + fmt.Sprintf("%s %s", e.Name, phrase.HowEnded(e.Code, e.Signal))}
	case e.Code != 0 && e.Rule == ExitScript:
		return Verdict{e.Code, starvation(e) + culprit(e) + failedOrder(e) + fmt.Sprintf("%s %s", e.Name, phrase.HowEnded(e.Code, e.Signal))}
	case e.Code != 0:
		return Verdict{e.Code, starvation(e) + fmt.Sprintf("%s %s", e.Name, phrase.HowEnded(e.Code, e.Signal))}
	case e.Rule == ExitStrict:
		return judgeZero(e)
	case keptToLauncher(e):
		return judgeAlone(e)
	case e.Rule == ExitScript:
		return judgeScript(e)
	}
	return Verdict{}
}

// withoutLate leaves out daemons that died when the ranks of their workers had ended
// with 0: Open MPI 5's may crash on their way out, and the work is done.
func withoutLate(all []Trouble) []Trouble {
	return slices.DeleteFunc(slices.Clone(all), func(t Trouble) bool { return t.Late })
}

// judgeLost is the verdict after a worker was lost. Each launcher has codes of its own
// for that, which retries and users would have to know: it is one code, and the command's
// stands in the sentence. After our own signals it says nothing.
func judgeLost(e Evidence) Verdict {
	why := fmt.Sprintf("worker %s lost: %s", e.Lost[0].Worker, e.Lost[0].Cause)
	if n := len(e.Lost) - 1; n > 0 {
		why += fmt.Sprintf(" (and %s)", phrase.Count(n, "more worker"))
	}
	if e.Ended {
		return Verdict{names.ExitHopeless, why}
	}
	if e.Code == 0 {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s said 0, but %s", e.Name, why)}
	}
	return Verdict{names.ExitHopeless, fmt.Sprintf("%s; %s %s", why, e.Name, phrase.HowEnded(e.Code, e.Signal))}
}

// starvation names the workers that ran out of memory, and the rank that was killed, as far
// as it is known: mpirun tells a signal at most, and no worker by its pod's name.
func starvation(e Evidence) string {
	if len(e.Starved) == 0 {
		return ""
	}
	more := ""
	if n := len(e.Starved) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s)", phrase.Count(n, "more worker"))
	}
	worker, rank := e.Starved[0], ""
	if r, found := StarvedRank(e); found {
		worker, rank = r.Worker, fmt.Sprintf("worker %s: %s; ", r.Worker, r.What)
	}
	return fmt.Sprintf("worker %s%s ran out of memory: the kernel killed a process there (OOM); %s", worker, more, rank)
}

// judgeTrouble is for a command that did not notice, and was ended by us or
// said 0.
func judgeTrouble(e Evidence) Verdict {
	t, _ := Cause(e.Troubles)
	if !e.Ended && (t.Likely == OfSession || t.Likely == OfAftermath) && len(e.Bad) > 0 {
		return judgeZero(e)
	}
	code := t.Code
	if code < 1 || code > 255 {
		code = names.ExitHopeless
	}
	why := t.Says()
	if t.Rank && t.Likely == OfSession { // which the command may have killed itself
		why = unknownFirst
		if b, ok := Blame(e); ok {
			why = b.Says()
		}
	}
	if e.Ended {
		return Verdict{code, fmt.Sprintf("%s; %s did not end by itself", why, e.Name)}
	}
	return Verdict{code, fmt.Sprintf("%s said 0, but %s", e.Name, why)}
}

// ownCode is the command's code, or that of the cause where the command's tells
// nothing: Intel MPI often says 255 for a rank that exited with 7, and both
// Hydras do for daemons and ranks that were killed; Open MPI 5 says 14 where
// another rank is quicker to abort than its daemon to tell of the one that ended.
// MPICH 4.2's now and then says 11 for a rank that SIGSEGV ended, and not 139.
// Killed by different signals, some ranks were killed by mpiexec, and nobody knows
// which.
func ownCode(e Evidence) int {
	if r, found := byWord(e); found && r.Code != 0 && (e.Code == HydraGaveUp || e.Code == PeerGone || e.Code == r.Signal) {
		return r.Code
	}
	if t, found := onHost(e); found && t.Rank && e.Code == HydraGaveUp {
		return t.Code
	}
	if r, found := fatal(e); found && (e.Code == HydraGaveUp || e.Code == r.Signal) {
		return r.Code
	}
	if e.Code != HydraGaveUp && e.Code != PeerGone {
		return e.Code
	}
	if r, found := meant(e); found && e.Code == PeerGone {
		return r.Code
	}
	if r, found := ownEnd(e); found {
		return r.Code
	}
	killed := map[int]bool{}
	for _, r := range e.Ranks {
		killed[r.Code] = true
	}
	t, ok := Cause(e.Troubles)
	switch {
	case len(e.Starved) > 0 && e.Code == HydraGaveUp:
		return 128 + int(syscall.SIGKILL)
	case cutFirst(e) || ok && t.Likely != OfAftermath && t.Code == 0:
		return e.Code
	case ok && t.Likely == OfSession && isGivenUp(t.Code):
		return e.Code
	case ok && t.Likely != OfAftermath:
		if b, found := Blame(e); found {
			return b.Code
		}
		return e.Code
	}
	for code := range killed {
		if len(killed) == 1 && len(e.Unseen) == 0 {
			return code
		}
	}
	return e.Code
}

// cutFirst: a session was cut off before anything else came to light that may
// follow from it.
func cutFirst(e Evidence) bool {
	t, ok := Cause(e.Troubles)
	return len(e.Cut) > 0 && (!ok || t.Likely >= OfSession && e.Cut[0].Moment < t.Moment)
}

// isGivenUp reports whether a session's code is one with which Hydra's daemon ends after an
// error of its own, or when it has lost mpiexec or another daemon; no rank said it. They are
// HYD_SOCK_ERROR and HYD_INTERNAL_ERROR (HYD_status in MPICH's hydra.h).
func isGivenUp(code int) bool { return code == 5 || code == 7 }

// HydraGaveUp is what mpiexec says when it does not say how the ranks ended.
const HydraGaveUp = 255

// PeerGone is what a rank of Open MPI 5 aborts with when the connection to a
// daemon or a peer is closed under it: MPI_ERR_UNKNOWN.
const PeerGone = 14

// judgeZero doubts a 0.
func judgeZero(e Evidence) Verdict {
	if len(e.Bad) > 0 {
		b := e.Bad[0]
		if aborted(e) {
			what := b.What
			if slices.ContainsFunc(e.Bad, func(other BadSession) bool { return other.Code != b.Code }) {
				what = "failed"
			}
			return Verdict{b.Code, fmt.Sprintf("%s said 0, but %d of its sessions %s, as after MPI_Abort: %s", e.Name, len(e.Bad), what, unknownFirst)}
		}
		return Verdict{codeOf(b), e.Name + " said 0, but its " + saysBad(e.Bad)}
	}
	if len(e.Cut) > 0 {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s said 0, but its session on worker %s was cut off: the agent that it had called ended first", e.Name, e.Cut[0].Worker)}
	}
	return judgeIdle(e)
}

// Hint is the way out of a verdict, where there is one.
func Hint(e Evidence, v Verdict) string {
	t, ok := Cause(e.Troubles)
	switch {
	case ok && t.Hint != "" && v.Code != 0 && e.Rule == ExitStrict && e.Told == 0 && len(e.Lost) == 0:
		return t.Hint
	case len(e.Starved) > 0 && e.Code != 0 && e.Told == 0 && len(e.Lost) == 0:
		return "raise resources.limits.memory of the workers' containers, or use less memory per worker"
	case v.Code == 0 || e.Told != 0 || e.Start != nil || e.Code != 0:
		return ""
	case e.Group != "" && keptToLauncher(e):
		return wayToWorkers(e.Group) + " starts it on the workers; --exit=command says that this was meant"
	case e.Alone != "" && len(e.Lost) == 0:
		return "--framework=torch starts " + e.Name + " on each worker; --exit=command says that this was meant"
	case len(e.Lost) == 0 && e.Rule == ExitScript && !e.Remote:
		return "--exit=command takes the word of " + e.Name + " as it is, for a script that expects such an end"
	case len(e.Lost) == 0 && len(e.Bad) == 0 && len(e.Troubles) == 0 && len(e.Cut) == 0 && !(e.Remote && e.Opened > 0):
		return "`agent env` shows what " + e.Name + " was told; --exit=command accepts a run on the launcher alone"
	case len(e.Lost) == 0:
		return "--exit=command takes the word of " + e.Name + " as it is"
	}
	return ""
}

func allWorkers(n int) string {
	if n == 1 {
		return "the one worker"
	}
	return fmt.Sprintf("any of the %d workers", n)
}
