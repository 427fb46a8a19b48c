package tally

import (
	"slices"
	"time"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// call is a session that the command asked for.
type call struct {
	worker string
	launch int       // the index of the mpirun that asked for it; 0: no mpirun, see launched
	left   int       // the moment when its agent ended before the session did; 0: it did not
	cutOff bool      // its agent ended first, or it was stopped, and it did not end well
	ranked bool      // it has had ranks
	unseen bool      // it has had ranks that PID 1 has not seen
	quiet  bool      // it ended well without a rank, and left no process behind
	ended  time.Time // when it ended well
	early  bool      // it ended well while its mpirun still ran
	told   bool      // the trouble about its quiet end was recorded
	over   bool      // it ended, or its worker is lost
	// finished means that one of its daemons died after its ranks had ended with 0.
	finished bool
	stays    bool // it left processes behind
}

// Called records a session that the command asks for through this mpirun; nil means no mpirun.
func (t *Tally) Called(worker, id string, by Launcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job.calls[id] = &call{worker: worker, launch: t.job.launchOf(by, t.now())}
	t.job.open++
}

// Left records that the agent of a session ended, which ends the session.
func (t *Tally) Left(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.job.calls[id]; c != nil && !t.job.closed {
		t.job.moments++
		c.left = t.job.moments
	}
}

// Answered records the end of a session, if it is one of the command's.
func (t *Tally) Answered(id string, exit wire.ExitRecord, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.job.calls[id]
	if c == nil {
		return
	}
	t.job.open--
	c.over, c.stays = true, exit.Detached
	c.unseen = c.unseen || exit.Unseen > 0
	if t.job.closed {
		return
	}
	bad, well := verdict.JudgeSession(c.worker, exit.Code, exit.Signal, exit.Reason, exit.Error)
	switch {
	case err != nil || exit.Reason == wire.ReasonStopped:
		t.job.fulfilled(id, false, nil)
	case well:
		t.job.fulfilled(id, true, nil)
	default:
		t.job.fulfilled(id, false, &bad)
	}
	switch {
	case err != nil: // the worker is lost, which is recorded elsewhere, or the launcher is ending
	case exit.Reason == wire.ReasonStopped:
		c.cutOff = !c.finished
	case !well:
		c.cutOff = !c.finished
		trouble := verdict.Trouble{Worker: c.worker, What: "its session " + bad.What, Code: bad.Code, Likely: verdict.OfSession, Launch: c.launch, At: t.now()}
		if c.finished {
			trouble.Likely, trouble.Late = verdict.OfAftermath, true
		}
		t.job.trouble(trouble)
	default:
		t.job.noteEnds(t.now())
		c.quiet, c.ended = !exit.Detached && !c.ranked, t.now()
		c.early = !t.job.over && t.job.launches[c.launch].over.IsZero()
	}
}

// Finished reports whether a daemon of a session died after its ranks had ended with 0.
func (t *Tally) Finished(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.job.calls[id]
	return c != nil && c.finished
}

// OpenCalls counts the command's running sessions.
func (t *Tally) OpenCalls() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.job.open
}

// cut lists the sessions that were cut off, in the order in which their agents ended.
func (j *job) cut() []verdict.Cut {
	var list []*call
	for _, c := range j.calls {
		if c.cutOff && c.left > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return a.left - b.left })
	var cuts []verdict.Cut
	for _, c := range list {
		cuts = append(cuts, verdict.Cut{Worker: c.worker, Moment: c.left, Launch: c.launch})
	}
	return cuts
}

// Detached lists, by worker, the sessions of an mpirun that have left processes behind. It leaves
// out an mpirun that the command went on from.
func (t *Tally) Detached() map[string]map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]map[string]bool{}
	for id, c := range t.job.calls {
		if !c.stays || c.launch == 0 || t.job.launches[c.launch].passed {
			continue
		}
		if all[c.worker] == nil {
			all[c.worker] = map[string]bool{}
		}
		all[c.worker][id] = true
	}
	return all
}

// unseen lists the workers that may have had ranks that PID 1 did not see, because a rank that
// fails at once may be too short to see. It leaves out mpiruns that the command went on from. A
// session without a rank does not count if its mpirun has another session with ranks on the same
// worker: some mpiruns first ask a host for its shell.
func (j *job) unseen() (workers []string) {
	ranked := j.spots(func(c *call) bool { return c.ranked })
	for _, c := range j.calls {
		if !j.launches[c.launch].passed && (c.unseen || !ranked[spot{c.launch, c.worker}]) {
			workers = append(workers, c.worker)
		}
	}
	return workers
}

// quiet lists, by time, the workers whose session ended with 0 while its mpirun ran, and where no
// rank of that mpirun was seen.
func (j *job) quiet() (workers []string) {
	busy := j.spots(func(c *call) bool { return !c.quiet })
	var list []*call
	for _, c := range j.calls {
		if c.quiet && c.early && !c.unseen && !j.launches[c.launch].passed && !busy[spot{c.launch, c.worker}] {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return a.ended.Compare(b.ended) })
	for _, c := range list {
		workers = append(workers, c.worker)
	}
	return workers
}

// spot is one worker under one mpirun, which may have several sessions there.
type spot struct {
	launch int
	worker string
}

// spots returns the spots with a session for which has reports true.
func (j *job) spots(has func(*call) bool) map[spot]bool {
	found := map[spot]bool{}
	for _, c := range j.calls {
		if has(c) {
			found[spot{c.launch, c.worker}] = true
		}
	}
	return found
}
