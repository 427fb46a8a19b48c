package verdict

import (
	"slices"
	"strings"
)

// Latest returns the evidence about the mpiruns that the command did not go on from. A script that
// starts another mpirun after a failed one has noticed the failure: it retries, or the first one
// was a probe. Sessions that no mpirun asked for are left out too, because they report their end to
// their callers.
func (e Evidence) Latest() Evidence {
	old := func(launch int) bool { return launch == 0 || launch > len(e.Launches) || e.Launches[launch-1].Passed }
	e.Troubles = slices.DeleteFunc(slices.Clone(e.Troubles), func(t Trouble) bool { return old(t.Launch) })
	e.Ranks = slices.DeleteFunc(slices.Clone(e.Ranks), func(r RankEnd) bool { return old(r.Launch) })
	e.Cut = slices.DeleteFunc(slices.Clone(e.Cut), func(c Cut) bool { return old(c.Launch) })
	e.Bad = nil // bad sessions are among the troubles
	e.Words = e.lastWords()
	return e
}

// of returns the evidence about one mpirun, as if it were the command.
func (e Evidence) of(i int) Evidence {
	l := e.Launches[i]
	e.Troubles = slices.DeleteFunc(slices.Clone(e.Troubles), func(t Trouble) bool { return t.Launch != i+1 })
	e.Ranks = slices.DeleteFunc(slices.Clone(e.Ranks), func(r RankEnd) bool { return r.Launch != i+1 })
	e.Cut = slices.DeleteFunc(slices.Clone(e.Cut), func(c Cut) bool { return c.Launch != i+1 })
	e.Name, e.Rule, e.Code, e.Signal, e.Ended, e.Bad = l.Name, ExitStrict, l.Code, l.Signal, l.Stopped, nil
	return e
}

// judgeScript rejects the 0 of a command that is no mpirun, if an mpirun that the command did not
// go on from has failed. It does not matter whether that mpirun noticed.
func judgeScript(e Evidence) Verdict {
	for i, l := range e.Launches {
		if l.Passed {
			continue
		}
		if v := Judge(e.of(i)); v.Code != 0 {
			return Verdict{v.Code, e.Name + " exited with 0, but " + strings.TrimPrefix(v.Why, l.Name+" exited with 0, but ")}
		}
	}
	return judgeStarters(e)
}
