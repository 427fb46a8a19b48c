package verdict

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/musterhq/muster/agent/launch/phrase"
)

// unknownFirst replaces the name of the culprit if only victims were seen.
const unknownFirst = "which rank ended first is unknown"

// culprit names the worker where a failure began, as far as that is known. mpirun itself names at
// most the worker's host. If several ranks were killed, mpirun has killed all but one.
func culprit(e Evidence) string {
	t, ill := Cause(e.Troubles)
	switch b, ok := Blame(e); {
	case len(e.Starved) > 0:
		return ""
	case cutFirst(e):
		return saysCut(e.Cut, oneCutFirst, severalCutFirst) + "; "
	case ok:
		return b.Says() + "; "
	case e.Code == HydraGaveUp && len(e.Quiet) > 0:
		return saysQuiet(e.Quiet) + "; "
	case ill && t.Likely <= OfSession && !t.Rank:
		return fmt.Sprintf("%s (%s); ", unknownFirst, t.Says())
	case len(e.Ranks) > 0:
		return unknownFirst + "; "
	}
	return ""
}

// Sentences of saysCut.
const (
	oneCutFirst     = "the session on worker %s was cut off first, when its agent ended"
	severalCutFirst = "the sessions on workers %s were cut off first, when their agents ended"
)

// saysCut describes sessions that were cut off, in the form for one worker or for several. If one agent
// ends, mpirun ends the others within milliseconds, so the order in which they are seen proves nothing.
func saysCut(cuts []Cut, one, several string) string {
	var workers []string
	for _, c := range cuts {
		if !slices.Contains(workers, c.Worker) {
			workers = append(workers, c.Worker)
		}
	}
	const most = 3 // names
	switch n := len(workers); {
	case n == 1:
		return fmt.Sprintf(one, workers[0])
	case n > most:
		return fmt.Sprintf(several, fmt.Sprintf("%s (and %d more)", strings.Join(workers[:most], ", "), n-most))
	}
	return fmt.Sprintf(several, strings.Join(workers, ", "))
}

// saysQuiet describes workers with a quiet session without blaming them. Either Hydra gave up
// because their session ended like this, or they had a rank that was too short to be seen.
func saysQuiet(workers []string) string {
	more := ""
	if n := len(workers) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s)", phrase.Count(n, "more worker"))
	}
	return fmt.Sprintf("worker %s%s: its session ended with 0 before mpiexec did, and no rank was seen there", workers[0], more)
}

// Blame returns where a failure began: a rank, a daemon, a session or a host. It returns false if
// that is not known. What mpirun says counts if it says more than the workers saw, or says it more
// reliably.
func Blame(e Evidence) (Trouble, bool) {
	if agentFirst(e) {
		return Trouble{}, false
	}
	if r, found := byWord(e); found {
		return r.trouble(), true
	}
	if t, found := onHost(e); found {
		return t, true
	}
	return seen(e)
}

// seen returns where a failure began, from what the workers saw. A rank that the command itself may
// have killed is blamed only if the command's code may stem from its end. A proxy of Hydra that
// gave up is blamed only if no rank may have failed unseen before.
func seen(e Evidence) (Trouble, bool) {
	t, ill := Cause(e.Troubles)
	ill = ill && t.Likely != OfAftermath
	own, found := ownEnd(e)
	session := ownSession(e.Troubles)
	switch {
	case ill && t.Likely == OfDaemon && found && own.At.Before(t.At):
		return own.trouble(), true // Hydra kills its proxies when a rank has failed
	case ill && t.Proxy && session != nil:
		return *session, true
	case ill && t.Proxy && len(e.Unseen) > 0:
		return Trouble{}, false
	case ill && t.Likely < OfSession:
		return t, true
	}
	if r, found := meant(e); found && ill {
		return r.trouble(), true
	}
	if found {
		return own.trouble(), true
	}
	if ill && (t.Rank && e.tells(t.Code) || !t.Rank && (!isGivenUp(t.Code) || len(e.Unseen) == 0 && !aborted(e))) {
		return t, true
	}
	if len(e.Ranks) == 1 && e.tells(e.Ranks[0].Code) {
		return e.Ranks[0].trouble(), true
	}
	return Trouble{}, false
}

// ownSession returns the first session that ended with a code of its own while its mpiexec ran, or
// nil. Hydra then kills the other proxies, so a proxy that gave up or was killed is only a
// consequence.
func ownSession(all []Trouble) *Trouble {
	i := slices.IndexFunc(all, func(t Trouble) bool {
		return t.Likely == OfSession && !t.Rank && !t.Late && t.Code > 0 && t.Code < 128 && !isGivenUp(t.Code)
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// trouble converts the end of a rank to a Trouble.
func (r RankEnd) trouble() Trouble {
	return Trouble{Worker: r.Worker, What: r.What, Code: r.Code, Launch: r.Launch, Rank: true, Number: r.Rank}
}

// tells reports whether the command's code may stem from a rank that was killed with this code.
func (e Evidence) tells(code int) bool {
	return e.Code == code || len(e.Unseen) == 0 && (e.Code == HydraGaveUp || e.Code == PeerGone || e.Ended)
}

// ownEnd returns the first rank in time that ended badly by itself. It returns false if none is
// known. A rank that TERM or KILL ended may be a victim. A process that was not known to be a rank
// counts only if the command's code may stem from it, and if no session had failed before. Open MPI
// 5's daemons have a child of the same name, which exits with 1 when they cannot start.
func ownEnd(e Evidence) (RankEnd, bool) {
	session := ownSession(e.Troubles)
	i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool {
		if r.Unborn && session != nil && session.At.Before(r.At) {
			return false
		}
		return !Killed(r.Signal) && (!r.Unborn || r.Code == e.Code || e.Code == HydraGaveUp)
	})
	if i < 0 {
		return RankEnd{}, false
	}
	return e.Ranks[i], true
}

// meant returns the first rank whose end explains the command's code, if ranks were killed by
// several signals. mpirun kills the other ranks with a signal of its own, and their ends may be
// reported first. A PeerGone abort points to the peer: it was killed by KILL, or exited. Open MPI 5
// itself ends ranks with TERM.
func meant(e Evidence) (RankEnd, bool) {
	if e.Code == PeerGone {
		i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool {
			return r.Signal == int(syscall.SIGKILL) || r.Signal == 0 && r.Code != PeerGone
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
	i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool { return Killed(r.Signal) && r.Code == e.Code })
	if !several || i < 0 {
		return RankEnd{}, false
	}
	return e.Ranks[i], true
}

// StarvedRank returns the first rank in time that SIGKILL ended on a worker that ran out of memory.
// It returns false if none is known. On a worker with unseen ranks, a seen rank may be a victim.
func StarvedRank(e Evidence) (RankEnd, bool) {
	if r, found := byWord(e); found && r.Signal == int(syscall.SIGKILL) && slices.Contains(e.Starved, r.Worker) {
		return r, true
	}
	i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool {
		return r.Signal == int(syscall.SIGKILL) && slices.Contains(e.Starved, r.Worker) && !slices.Contains(e.Unseen, r.Worker)
	})
	if i < 0 {
		return RankEnd{}, false
	}
	return e.Ranks[i], true
}

// fatal returns the first rank in time that was ended by a signal that the command did not send. It
// returns false if none is known.
func fatal(e Evidence) (RankEnd, bool) {
	if r, found := StarvedRank(e); found {
		return r, true
	}
	r, found := ownEnd(e)
	return r, found && r.Signal != 0
}

// aborted reports whether several proxies of Hydra gave up although mpiexec exited with 0, as after
// MPI_Abort(0).
func aborted(e Evidence) bool {
	return e.Code == 0 && len(e.Bad) > 1 && !slices.ContainsFunc(e.Bad, func(b BadSession) bool { return !isGivenUp(b.Code) })
}

// FirstOfItself returns the rank that failed first, if it is known and was not killed.
func FirstOfItself(e Evidence) (RankEnd, bool) {
	t, found := Blame(e)
	if !found || !t.Rank || t.Number == "" {
		return RankEnd{}, false
	}
	i := slices.IndexFunc(e.Ranks, func(r RankEnd) bool { return r.Rank == t.Number && r.Worker == t.Worker && r.Code == t.Code })
	if i < 0 || Killed(e.Ranks[i].Signal) {
		return RankEnd{}, false
	}
	return e.Ranks[i], true
}

// HydraBroke reports whether mpiexec gave up because one of its own daemons did, and no rank was
// seen to end badly. MPICH 4.0's proxies sometimes abort when one of their ranks is killed while
// they are still starting.
func HydraBroke(e Evidence) bool {
	t, ok := Cause(e.Troubles)
	return e.Code == HydraGaveUp && ok && t.Likely == OfSession && isGivenUp(t.Code) && len(e.Ranks) == 0
}
