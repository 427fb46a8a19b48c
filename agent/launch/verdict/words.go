package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/notice"
)

// Word is what an mpirun said about the end of a rank. A rank can print the same words, so a Word
// only selects among the causes that the workers' reports leave possible.
type Word struct {
	notice.End
	Worker string // the worker of the rank's host; "": not told, or no worker
}

// lastWords returns what the one mpirun said that a script did not go on from. If there are
// several, it is unknown which one spoke, and lastWords returns nil.
func (e Evidence) lastWords() []Word {
	last := slices.DeleteFunc(slices.Clone(e.Launches), func(l LaunchEnd) bool { return l.Passed })
	if len(last) != 1 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Words), func(w Word) bool { return w.At.Before(last[0].Began) })
}

// byWord returns the end that mpirun reported, if it is credible. It returns false if mpirun
// reported none, or if the workers saw something else that is more likely the cause.
func byWord(e Evidence) (RankEnd, bool) {
	said, found := told(e)
	if !found {
		return RankEnd{}, false
	}
	switch b, ok := seen(e); {
	case !ok, b.Proxy:
		return said, true
	case b.Rank && b.Worker == said.Worker && b.Code == said.Code && b.Number == "":
		return said, true // the same rank, whose number was unknown
	case b.Rank && !Killed(b.Code-128) && fits(e, b.Code, b.Code-128), !b.Rank && b.Likely < OfRank:
		return RankEnd{}, false
	}
	return said, true
}

// told returns the first possible end that mpirun reported.
func told(e Evidence) (RankEnd, bool) {
	for _, w := range e.Words {
		if w.Rank < 0 || e.Ended || !fits(e, w.Code, w.Signal) {
			continue
		}
		if r, possible := possible(e, w); possible {
			return r, true
		}
	}
	return RankEnd{}, false
}

// fits reports whether the command's code may stem from an end with this code; 0 means an unknown
// code.
func fits(e Evidence, code, signal int) bool {
	return e.Code != 0 && (code == 0 || e.Code == code || e.Code == signal || e.Code == HydraGaveUp)
}

// possible returns the end of the rank that a word is about. Either its worker reported it, or it
// was on a worker that may have had unseen ranks.
func possible(e Evidence, w Word) (RankEnd, bool) {
	number, seenAs := strconv.Itoa(w.Rank), []RankEnd(nil)
	for _, r := range e.Ranks {
		elsewhere := w.Worker != "" && r.Worker != w.Worker
		switch {
		case r.Rank == number && (elsewhere || r.Code != w.Code):
			return RankEnd{}, false // it ended elsewhere, or in another way
		case elsewhere, r.Rank != "" && r.Rank != number:
		case r.Rank == number, r.Code == w.Code && (w.PID == 0 || w.PID == r.PID):
			seenAs = append(seenAs, r)
		}
	}
	if w.Code == 0 && len(seenAs) == 0 { // workers do not report a rank that ended with 0
		return numbered(RankEnd{Worker: w.Worker, PID: w.PID}, e.Name, w), true
	}
	if len(seenAs) > 1 {
		seenAs = slices.DeleteFunc(seenAs, func(r RankEnd) bool { return r.Rank == "" })
	}
	switch {
	case len(seenAs) == 1 && (!w.maybeVictim() || seenAs[0] == e.Ranks[0] || slices.Contains(e.Starved, seenAs[0].Worker)):
		return numbered(seenAs[0], e.Name, w), true
	case len(seenAs) > 0:
		return RankEnd{}, false
	}
	worker, unseen := w.whereabouts(e)
	if !unseen || w.maybeVictim() && !slices.Contains(e.Starved, worker) {
		return RankEnd{}, false
	}
	return numbered(RankEnd{Worker: worker, PID: w.PID, Code: w.Code, Signal: w.Signal}, e.Name, w), true
}

// maybeVictim reports whether the word is from Hydra, about a rank that Hydra may have killed
// itself.
func (w Word) maybeVictim() bool { return w.Hydra && Killed(w.Signal) }

// whereabouts returns the worker of a rank that was not seen, or "" if it is unknown. possible is
// false if no worker can have had the rank.
func (w Word) whereabouts(e Evidence) (worker string, possible bool) {
	unseen := slices.Clone(e.Unseen)
	slices.Sort(unseen)
	unseen = slices.Compact(unseen)
	switch {
	case w.Worker != "":
		return w.Worker, slices.Contains(unseen, w.Worker)
	case e.Own:
		return "", true // it may have been a rank of the launcher
	case w.Signal == int(syscall.SIGKILL) && len(e.Starved) == 1 && slices.Contains(unseen, e.Starved[0]):
		return e.Starved[0], true
	case len(unseen) == 1:
		return unseen[0], true
	}
	return "", len(unseen) > 0
}

// numbered returns a rank's end with the rank number from a word.
func numbered(r RankEnd, name string, w Word) RankEnd {
	if r.Rank != "" {
		return r
	}
	r.Rank = strconv.Itoa(w.Rank)
	r.What = "rank " + r.Rank
	if r.PID != 0 {
		r.What += fmt.Sprintf(" (pid %d)", r.PID)
	}
	how := phrase.HowEnded(r.Code, r.Signal)
	if r.Code == 0 {
		how = "exited without MPI_Finalize"
	}
	r.What += fmt.Sprintf(" %s, as %s reported", how, name)
	return r
}

// onHost returns where a failure began according to MPICH's Hydra, which names the host of the
// first failure, and no rank. Hydra's word counts if the workers saw no rank fail there, and at
// most victims elsewhere.
func onHost(e Evidence) (Trouble, bool) {
	i := slices.IndexFunc(e.Words, func(w Word) bool { return w.Rank < 0 && w.Worker != "" })
	if i < 0 || e.Code == 0 || e.Ended {
		return Trouble{}, false
	}
	worker := e.Words[i].Worker
	b, ok := seen(e)
	if ok && (b.Worker == worker || !b.Rank && !b.Proxy && b.Likely < OfRank || b.Rank && !Killed(b.Code-128)) {
		return Trouble{}, false
	}
	there := slices.DeleteFunc(slices.Clone(e.Ranks), func(r RankEnd) bool { return r.Worker != worker })
	if len(there) == 1 && !slices.Contains(e.Unseen, worker) && fits(e, there[0].Code, there[0].Signal) {
		return there[0].trouble(), true
	}
	return Trouble{Worker: worker, Code: e.Code, What: "which of its ranks ended first is unknown", Likely: OfSession}, true
}
