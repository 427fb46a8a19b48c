package verdict

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/exec/names"
)

// Verdict is the launcher's exit code, and the sentence that explains why it is not simply the
// command's.
type Verdict struct {
	Code int
	Why  string
}

// Judge decides the exit code. mpirun's own code cannot be trusted: Open MPI 5 exits with 0 after
// it lost a daemon, and MPICH 4.0 exits with 0 after SIGTERM. Both run everything on one host, and
// exit with 0, if they overlook the hostfile.
//
// The rules apply in this order. A run that was told to stop gives 128+n. A command that did not
// start gives 126 or 127. A lost worker gives 76. Under ExitStrict, what PID 1 saw of daemons and
// ranks overrules a command that did not notice it. A code other than 0 is the command's, or under
// ExitStrict that of the cause if the command's code says nothing. Under ExitStrict a 0 counts only
// if at least one session was opened, and none ended badly by itself or was cut off. Under
// ExitScript a 0 counts only if the same holds for the last mpirun.
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

// withoutLate removes daemons that died after the ranks of their workers had ended with 0. Open MPI
// 5's daemons may crash on their way out, but the work is done.
func withoutLate(all []Trouble) []Trouble {
	return slices.DeleteFunc(slices.Clone(all), func(t Trouble) bool { return t.Late })
}

// judgeLost returns the verdict after a worker was lost. Each launcher has its own codes for that,
// which retry rules and users would have to know. So there is one code, and the sentence has the
// command's. After our own signals, the command's code means nothing.
func judgeLost(e Evidence) Verdict {
	why := fmt.Sprintf("worker %s lost: %s", e.Lost[0].Worker, e.Lost[0].Cause)
	if n := len(e.Lost) - 1; n > 0 {
		why += fmt.Sprintf(" (and %s)", phrase.Count(n, "more worker"))
	}
	if e.Ended {
		return Verdict{names.ExitHopeless, why}
	}
	if e.Code == 0 {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s exited with 0, but %s", e.Name, why)}
	}
	return Verdict{names.ExitHopeless, fmt.Sprintf("%s; %s %s", why, e.Name, phrase.HowEnded(e.Code, e.Signal))}
}

// starvation names the workers that ran out of memory, and the killed rank if it is known. mpirun
// reports at most a signal, and no worker by its pod's name.
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

// judgeTrouble returns the verdict for a command that did not notice a trouble, and that Muster
// ended or that exited with 0.
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
	switch {
	case agentFirst(e):
		code, why = names.ExitHopeless, saysCut(e.Cut, oneCutFirst, severalCutFirst)
	case t.Rank && t.Likely == OfSession: // the command may have killed the rank itself
		why = unknownFirst
		if b, ok := Blame(e); ok {
			why = b.Says()
		}
	}
	if e.Ended {
		return Verdict{code, fmt.Sprintf("%s; %s did not end by itself", why, e.Name)}
	}
	return Verdict{code, fmt.Sprintf("%s exited with 0, but %s", e.Name, why)}
}

// ownCode returns the command's code, or the code of the cause if the command's says nothing. Intel
// MPI often exits with 255 for a rank that exited with 7, and both Hydras do for killed daemons and
// ranks. Open MPI 5 exits with 14 if another rank aborts before its daemon reports the one that
// ended. MPICH 4.2 sometimes exits with 11, not 139, for a rank that SIGSEGV ended. If ranks were
// killed by different signals, mpiexec killed some of them, and which ones is unknown.
func ownCode(e Evidence) int {
	if agentFirst(e) {
		return e.Code
	}
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

// cutFirst reports whether a session was cut off before any trouble came to light that may follow
// from it.
func cutFirst(e Evidence) bool {
	t, ok := Cause(e.Troubles)
	return len(e.Cut) > 0 && (!ok || t.Likely >= OfSession && e.Cut[0].Moment < t.Moment) || agentFirst(e)
}

// agentFirst reports whether an agent that Hydra had called ended before anything failed. Proxies and
// ranks on other workers may crash then: MPICH 4.2's with SIGSEGV and SIGPIPE. When one of these fails
// first, Hydra ends no agent, and all end with their sessions. Open MPI 5 ends them, so there the order
// proves nothing.
func agentFirst(e Evidence) bool {
	ofHydra := func(t Trouble) bool { return t.Proxy || !t.Rank && t.Likely >= OfSession && isGivenUp(t.Code) }
	return len(e.Cut) > 0 && slices.ContainsFunc(e.Troubles, ofHydra) &&
		!slices.ContainsFunc(e.Troubles, func(t Trouble) bool { return t.Moment < e.Cut[0].Moment })
}

// isGivenUp reports whether Hydra's daemon ends with this code after an error of its own, or after
// it lost mpiexec or another daemon. The code comes from no rank. The codes are HYD_SOCK_ERROR and
// HYD_INTERNAL_ERROR (HYD_status in MPICH's hydra.h).
func isGivenUp(code int) bool { return code == 5 || code == 7 }

// HydraGaveUp is the exit code of an mpiexec that does not report how the ranks ended.
const HydraGaveUp = 255

// PeerGone is the code with which a rank of Open MPI 5 aborts if the connection to a daemon or a
// peer is closed: MPI_ERR_UNKNOWN.
const PeerGone = 14

// judgeZero rejects a 0 that the sessions contradict.
func judgeZero(e Evidence) Verdict {
	if len(e.Bad) > 0 {
		b := e.Bad[0]
		if aborted(e) {
			what := b.What
			if slices.ContainsFunc(e.Bad, func(other BadSession) bool { return other.Code != b.Code }) {
				what = "failed"
			}
			return Verdict{b.Code, fmt.Sprintf("%s exited with 0, but %d of its sessions %s, as after MPI_Abort: %s", e.Name, len(e.Bad), what, unknownFirst)}
		}
		return Verdict{codeOf(b), e.Name + " exited with 0, but its " + saysBad(e.Bad)}
	}
	if len(e.Cut) > 0 {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s exited with 0, but %s", e.Name, saysCut(e.Cut, "its session on worker %s was cut off: the agent that it had called ended first",
			"its sessions on workers %s were cut off: the agents that it had called ended first"))}
	}
	return judgeIdle(e)
}

// Hint returns the hint for a verdict, or "".
func Hint(e Evidence, v Verdict) string {
	t, ok := Cause(e.Troubles)
	switch {
	case ok && t.Hint != "" && v.Code != 0 && e.Rule == ExitStrict && e.Told == 0 && len(e.Lost) == 0:
		return t.Hint
	case len(e.Starved) > 0 && e.Code != 0 && e.Told == 0 && len(e.Lost) == 0:
		return "raise resources.limits.memory of the workers' containers or pods, or use less memory per worker"
	case v.Code == 0 || e.Told != 0 || e.Start != nil || e.Code != 0:
		return ""
	case e.Group != "" && keptToLauncher(e):
		return wayToWorkers(e.Group) + " starts it on the workers; --exit=command accepts a run in the launcher only"
	case e.Alone != "" && len(e.Lost) == 0:
		return "--framework=torch starts " + e.Name + " on each worker; --exit=command accepts a run in the launcher only"
	case len(e.Lost) == 0 && e.Rule == ExitScript && !e.Remote:
		return "--exit=command uses the exit code of " + e.Name + ", for a script that expects such an end"
	case len(e.Lost) == 0 && len(e.Bad) == 0 && len(e.Troubles) == 0 && len(e.Cut) == 0 && !(e.Remote && e.Opened > 0):
		return "`agent env` shows the environment of " + e.Name + "; --exit=command accepts a run in the launcher only"
	case len(e.Lost) == 0:
		return "--exit=command uses the exit code of " + e.Name
	}
	return ""
}

func allWorkers(n int) string {
	if n == 1 {
		return "the one worker"
	}
	return fmt.Sprintf("any of the %d workers", n)
}
