package launch

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/musterhq/muster/agent/names"
)

// Lost is a worker that was lost while the command ran, and the cause.
type Lost struct {
	Worker string `json:"worker"`
	Cause  string `json:"cause"`

	starved bool // its container was killed for its memory
	leaving bool // it was told to go from outside
}

// BadSession is a session that ended badly without our doing.
type BadSession struct {
	Worker string // pod name
	Code   int    // its exit code, 128+n for a signal, 255 for the transport
	What   string // how it ended, for people: "exited with 7", "was killed by signal 9"
}

// Evidence is all that the verdict depends on.
type Evidence struct {
	Name   string // the command's base name
	Rule   ExitRule
	Code   int // the command's own code, 128+n when a signal ended it
	Signal int // the signal that ended it; 0: it exited, be it with 128+n
	// Inquiry: the command was asked for its version or its help, and runs nothing.
	Inquiry bool
	Alone   string // a launcher such as torchrun that the command started on this machine; "": none was seen
	Start   error  // the command could not be started; Code is 126 or 127 then

	Told  int  // the signal that told us to stop, 0 if none
	Ended bool // we ended the command because a worker was lost

	Workers  int // remote workers
	Opened   int // sessions opened on them
	Lost     []Lost
	Bad      []BadSession
	Troubles []Trouble // of the job's inside
	Ranks    []RankEnd // that did not end with 0
	Cut      []Cut     // sessions that their agents did not outlive
	Starved  []string  // workers where the kernel killed a process for its memory
	Leaving  []string  // workers that were told to go from outside

	Launches []LaunchEnd // the mpiruns that the command is or has started
}

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
		return Verdict{128 + e.Told, fmt.Sprintf("told to stop by %s", signalName(e.Told))}
	case e.Start != nil:
		return Verdict{e.Code, e.Start.Error()}
	case len(e.Lost) > 0:
		return judgeLost(e)
	case e.Rule == ExitStrict && len(e.Troubles) > 0 && (e.Ended || e.Code == 0):
		return judgeTrouble(e)
	case e.Code != 0 && e.Rule == ExitStrict:
		return Verdict{ownCode(e), starvation(e) + culprit(e) + fmt.Sprintf("%s %s", e.Name, howEnded(e.Code, e.Signal))}
	case e.Code != 0 && e.Rule == ExitScript:
		return Verdict{e.Code, starvation(e) + culprit(e) + fmt.Sprintf("%s %s", e.Name, howEnded(e.Code, e.Signal))}
	case e.Code != 0:
		return Verdict{e.Code, starvation(e) + fmt.Sprintf("%s %s", e.Name, howEnded(e.Code, e.Signal))}
	case e.Rule == ExitStrict:
		return judgeZero(e)
	case e.Alone != "" && e.Opened == 0 && e.Workers > 0:
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s said 0, but %s ran in the launcher alone, and on none of the %s", e.Name, e.Alone, count(e.Workers, "worker"))}
	case e.Rule == ExitScript:
		return judgeScript(e)
	}
	return Verdict{}
}

// withoutLate leaves out daemons that died when the ranks of their workers had ended
// with 0: Open MPI 5's may crash on their way out, and the work is done.
func withoutLate(all []Trouble) []Trouble {
	return slices.DeleteFunc(slices.Clone(all), func(t Trouble) bool { return t.late })
}

// judgeLost is the verdict after a worker was lost. Each launcher has codes of its own
// for that, which retries and users would have to know: it is one code, and the command's
// stands in the sentence. After our own signals it says nothing.
func judgeLost(e Evidence) Verdict {
	why := fmt.Sprintf("worker %s lost: %s", e.Lost[0].Worker, e.Lost[0].Cause)
	if n := len(e.Lost) - 1; n > 0 {
		why += fmt.Sprintf(" (and %s)", count(n, "more worker"))
	}
	if e.Code == 0 {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s said 0, but %s", e.Name, why)}
	}
	if e.Ended {
		return Verdict{names.ExitHopeless, why}
	}
	return Verdict{names.ExitHopeless, fmt.Sprintf("%s; %s %s", why, e.Name, howEnded(e.Code, e.Signal))}
}

// starvation names the workers that ran out of memory: mpirun tells a signal at
// most, and no worker by its pod's name.
func starvation(e Evidence) string {
	if len(e.Starved) == 0 {
		return ""
	}
	more := ""
	if n := len(e.Starved) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s)", count(n, "more worker"))
	}
	return fmt.Sprintf("worker %s%s ran out of memory: the kernel killed a process there (OOM); ", e.Starved[0], more)
}

// judgeTrouble is for a command that did not notice, and was ended by us or
// said 0.
func judgeTrouble(e Evidence) Verdict {
	t, _ := cause(e.Troubles)
	if !e.Ended && (t.likely == ofSession || t.likely == ofAftermath) && len(e.Bad) > 0 {
		return judgeZero(e)
	}
	code := t.Code
	if code < 1 || code > 255 {
		code = names.ExitHopeless
	}
	why := t.says()
	if e.Ended {
		return Verdict{code, fmt.Sprintf("%s; %s did not end by itself", why, e.Name)}
	}
	return Verdict{code, fmt.Sprintf("%s said 0, but %s", e.Name, why)}
}

// culprit names the worker where a failure began, as far as that is known:
// mpirun's own words name its host at most. Of several ranks that were killed,
// mpirun has killed all but one.
func culprit(e Evidence) string {
	t, ok := cause(e.Troubles)
	switch {
	case len(e.Starved) > 0:
		return ""
	case cutFirst(e):
		return fmt.Sprintf("the first session to be cut off, when its agent ended, was that on worker %s; ", e.Cut[0].Worker)
	case ok && t.likely != ofAftermath:
		if r, found := meant(e); t.likely == ofSession && found {
			return fmt.Sprintf("worker %s: %s; ", r.Worker, r.What)
		}
		return t.says() + "; "
	}
	if r, found := firstEnd(e); found {
		return fmt.Sprintf("worker %s: %s; ", r.Worker, r.What)
	}
	return ""
}

// firstEnd returns the first rank in time that ended badly by itself, false where none is
// known. A rank that TERM or KILL ended is a victim when the command's code tells of
// something else, or when another rank ended by itself. Of several that were killed, nobody
// knows which the launcher has killed.
func firstEnd(e Evidence) (RankEnd, bool) {
	for _, r := range e.Ranks {
		if !killed(r.Signal) {
			return r, true
		}
	}
	if len(e.Ranks) != 1 {
		return RankEnd{}, false
	}
	r := e.Ranks[0]
	return r, r.Code == e.Code || e.Code == hydraGaveUp || e.Code == peerGone || e.Code == 0
}

// meant is the first rank whose end the command's code tells of, where ranks were
// killed by several signals: mpirun ends the others with one of its own choice, and
// their ends may be heard of first. An abort because a peer has gone tells of that
// one: it was killed by KILL, or exited; Open MPI 5 itself ends ranks with TERM.
func meant(e Evidence) (RankEnd, bool) {
	if e.Code == peerGone {
		i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool {
			return r.Signal == int(syscall.SIGKILL) || r.Signal == 0 && r.Code != peerGone
		})
		if i < 0 {
			i = slices.IndexFunc(e.Ranks, func(r RankEnd) bool { return r.Signal == 0 })
		}
		if i < 0 {
			return RankEnd{}, false
		}
		return e.Ranks[i], true
	}
	several := slices.ContainsFunc(e.Ranks, func(r RankEnd) bool { return r.Signal != e.Ranks[0].Signal })
	i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool { return killed(r.Signal) && r.Code == e.Code })
	if !several || i < 0 {
		return RankEnd{}, false
	}
	return e.Ranks[i], true
}

// ownCode is the command's code, or that of the cause where the command's tells
// nothing: Intel MPI often says 255 for a rank that exited with 7, and both
// Hydras do for daemons and ranks that were killed; Open MPI 5 says 14 where
// another rank is quicker to abort than its daemon to tell of the one that ended.
// Killed by different signals, some ranks were killed by mpiexec, and nobody knows
// which.
func ownCode(e Evidence) int {
	if e.Code != hydraGaveUp && e.Code != peerGone {
		return e.Code
	}
	if r, found := meant(e); found && e.Code == peerGone {
		return r.Code
	}
	killed := map[int]bool{}
	for _, r := range e.Ranks {
		if r.Signal == 0 {
			return r.Code
		}
		killed[r.Code] = true
	}
	t, ok := cause(e.Troubles)
	switch {
	case cutFirst(e) || ok && t.likely != ofAftermath && t.Code == 0:
		return e.Code
	case ok && t.likely == ofSession && t.Code == proxyGaveUp:
		return e.Code
	case ok && t.likely != ofAftermath:
		return t.Code
	}
	for code := range killed {
		if len(killed) == 1 {
			return code
		}
	}
	return e.Code
}

// cutFirst: a session was cut off before anything else came to light that may
// follow from it.
func cutFirst(e Evidence) bool {
	t, ok := cause(e.Troubles)
	return len(e.Cut) > 0 && (!ok || t.likely >= ofSession && e.Cut[0].moment < t.moment)
}

// proxyGaveUp is what Hydra's daemon exits with after an error of its own, or
// when it has lost mpiexec; no rank said it.
const proxyGaveUp = 7

// hydraGaveUp is what mpiexec says when it does not say how the ranks ended.
const hydraGaveUp = 255

// peerGone is what a rank of Open MPI 5 aborts with when the connection to a
// daemon or a peer is closed under it: MPI_ERR_UNKNOWN.
const peerGone = 14

// judgeZero doubts a 0.
func judgeZero(e Evidence) Verdict {
	if len(e.Bad) > 0 {
		b := e.Bad[0]
		why := fmt.Sprintf("%s said 0, but its session on worker %s %s", e.Name, b.Worker, b.What)
		if n := len(e.Bad) - 1; n > 0 {
			why += fmt.Sprintf(" (and %s)", count(n, "more session"))
		}
		code := b.Code
		if code < 1 || code > 255 {
			code = 1
		}
		return Verdict{code, why}
	}
	if len(e.Cut) > 0 {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s said 0, but its session on worker %s was cut off: the agent that it had called ended first", e.Name, e.Cut[0].Worker)}
	}
	if e.Workers > 0 && e.Opened == 0 && !e.Inquiry {
		return Verdict{names.ExitHopeless, fmt.Sprintf("%s said 0, but it started nothing on %s: everything ran in the launcher",
			e.Name, allWorkers(e.Workers))}
	}
	return Verdict{}
}

// judgeHint is the way out of a verdict, where there is one.
func judgeHint(e Evidence, v Verdict) string {
	t, ok := cause(e.Troubles)
	switch {
	case ok && t.hint != "" && v.Code != 0 && e.Rule == ExitStrict && e.Told == 0 && len(e.Lost) == 0:
		return t.hint
	case len(e.Starved) > 0 && e.Code != 0 && e.Told == 0 && len(e.Lost) == 0:
		return "raise resources.limits.memory of the workers' containers, or use less memory per worker"
	case v.Code == 0 || e.Told != 0 || e.Start != nil || e.Code != 0:
		return ""
	case e.Alone != "" && len(e.Lost) == 0:
		return "--framework=torch starts " + e.Name + " on each worker; --exit=command says that this was meant"
	case len(e.Lost) == 0 && e.Rule == ExitScript:
		return "--exit=command takes the word of " + e.Name + " as it is, for a script that expects such an end"
	case len(e.Lost) == 0 && len(e.Bad) == 0 && len(e.Troubles) == 0 && len(e.Cut) == 0:
		return "`agent env` shows what " + e.Name + " was told; --exit=command accepts a run on the launcher alone"
	case len(e.Lost) == 0:
		return "--exit=command takes the word of " + e.Name + " as it is"
	}
	return ""
}

// howEnded tells a signal from a code that looks like one: mpirun exits with
// 128+n when a rank was killed, and with codes of its own in that range.
func howEnded(code, signal int) string {
	if signal != 0 {
		return "was killed by " + signalName(signal)
	}
	return fmt.Sprintf("exited with %d", code)
}

func allWorkers(n int) string {
	if n == 1 {
		return "the one worker"
	}
	return fmt.Sprintf("any of the %d workers", n)
}

// count writes "1 link", "2 links".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
