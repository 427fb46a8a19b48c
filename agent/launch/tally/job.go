package tally

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// stallTime is how long mpirun may go on after the session of a daemon has ended well without a
// rank.
const stallTime = 10 * time.Second

// HeardWait is how long after the end of the command the ends of its sessions may take to arrive.
const HeardWait = 2 * time.Second

// job holds what the tally knows about the inside of an MPI job.
type job struct {
	calls    map[string]*call // the command's sessions, by id
	open     int              // number of calls that run
	moments  int              // counts the events, to order them
	troubles []verdict.Trouble
	ranks    []verdict.RankEnd
	launches []*launched // [0]: sessions that no mpirun asked for
	starters []*sshLauncher
	orders   map[string]*order // the starters' sessions, by id
	over     bool              // the command has ended
	closed   bool              // the command has ended and its sessions were heard: later ends are caused by us
}

func newJob() job {
	return job{calls: map[string]*call{}, orders: map[string]*order{}, launches: []*launched{{}}}
}

// Report records what PID 1 of a worker saw.
func (t *Tally) Report(worker string, rec wire.ReportRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.job.calls[rec.Session]
	if c == nil || t.job.closed {
		return
	}
	at := t.now().Add(-time.Duration(rec.AgoMillis) * time.Millisecond)
	name := strings.TrimSpace(fmt.Sprintf("%s (pid %d)", rec.Command, rec.PID))
	switch rec.Kind {
	case wire.ReportRanks:
		l := t.job.launches[c.launch]
		c.ranked, l.hasRanks, l.hasMPI = true, true, l.hasMPI || rec.MPI
	case wire.ReportFrozen:
		stopped := phrase.Seconds(time.Duration(rec.Millis) * time.Millisecond)
		t.job.trouble(verdict.Trouble{Worker: worker, Launch: c.launch, Silent: true, What: "its " + name + " has been stopped, as by SIGSTOP, for " + stopped})
	case wire.ReportDaemon:
		trouble := verdict.Trouble{Worker: worker, Launch: c.launch, Code: rec.Code, At: at, Proxy: strings.HasPrefix(rec.Command, "hydra_"), What: "its " + name + " was killed by " + phrase.SignalName(rec.Signal)}
		if rec.Finished {
			c.finished = true
			trouble.What += " when its ranks had ended with 0"
			trouble.Likely, trouble.Late = verdict.OfSession, true
		}
		t.job.trouble(trouble)
	case wire.ReportDone:
		if t.onDone != nil && c.launch > 0 {
			t.onDone(c.launch, rec.Rank, at)
		}
	case wire.ReportMemory:
		t.starveLocked(worker, at)
	case wire.ReportRank:
		c.unseen = rec.Unseen > 0
		t.job.rankEnded(c, name, rec, at)
		if t.onFailed != nil {
			t.onFailed()
		}
	}
}

// rankEnded records the end of a rank. It sorts the ends by time, because the reports of two
// workers may arrive in another order. Ranks without MPI do not wait for each other, so their end
// is no trouble for the other ranks.
func (j *job) rankEnded(c *call, name string, rec wire.ReportRecord, at time.Time) {
	end := verdict.RankEnd{Worker: c.worker, Rank: rec.Rank, PID: rec.PID, Launch: c.launch, Code: rec.Code, Signal: rec.Signal, What: "a rank, " + name, At: at, Unborn: rec.Command == ""}
	if rec.Rank != "" {
		end.What = "rank " + rec.Rank + ", " + name
	}
	end.What += ", " + phrase.HowEnded(rec.Code, rec.Signal)
	later := slices.IndexFunc(j.ranks, func(r verdict.RankEnd) bool { return r.At.After(at) })
	if later < 0 {
		later = len(j.ranks)
	}
	j.ranks = slices.Insert(j.ranks, later, end)
	if !rec.MPI {
		return
	}
	trouble := verdict.Trouble{Worker: c.worker, Launch: c.launch, What: end.What, Code: rec.Code, Likely: verdict.OfRank, Rank: true, Number: rec.Rank}
	if verdict.Killed(rec.Signal) || rec.Code == verdict.PeerGone {
		trouble.Likely = verdict.OfSession
	}
	j.trouble(trouble)
}

// trouble records a trouble.
func (j *job) trouble(t verdict.Trouble) {
	if j.over && t.Likely >= verdict.OfSession {
		t.Likely = verdict.OfAftermath
	}
	j.moments++
	t.Moment = j.moments
	j.troubles = append(j.troubles, t)
}

// Trouble returns the likeliest cause of all that is known. It returns false if there is none.
func (t *Tally) Trouble() (verdict.Trouble, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return verdict.Cause(t.job.troubles)
}

// noDaemon decides that a session that ended well without a rank has started no daemon, if its
// mpirun ran for longer than lag after it. What a script does after the mpirun proves nothing. A
// session does not count if its mpirun has another session with ranks on the worker. It does not
// count either if the mpirun has ranks elsewhere that do not use MPI. These do not wait for each
// other, and one may have been too short to be seen.
func (j *job) noDaemon(now time.Time, lag time.Duration) {
	busy := j.spots(func(c *call) bool { return !c.quiet })
	for _, c := range j.calls {
		l := j.launches[c.launch]
		if l.hasRanks && !l.hasMPI {
			continue
		}
		before := l.until(now).Add(-lag)
		if c.quiet && !busy[spot{c.launch, c.worker}] && c.ended.Before(before) && !c.told {
			c.told = true
			j.trouble(verdict.Trouble{Worker: c.worker, Launch: c.launch, What: "its session ended with 0, but started no rank: there was no daemon", Silent: true})
		}
	}
}

// Stalled records a trouble if a launch cannot end: the command still runs long after such a
// session. Only workers that report ranks can prove that there are none, and only while their links
// are up.
func (t *Tally) Stalled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job.noteEnds(t.now())
	if !t.deaf() {
		t.job.noDaemon(t.now(), stallTime)
	}
}

// deaf reports whether the launcher cannot hear a worker with a running session of the command, or
// could not until a moment ago. The caller holds t.mu.
func (t *Tally) deaf() bool {
	for _, c := range t.job.calls {
		if a := t.links[c.worker]; a != nil && !c.over && (!a.connected || t.now().Sub(a.since) < HeardWait) {
			return true
		}
	}
	return false
}

// CommandEnded records that the command has ended. Sessions that end badly from now on may do so
// because of that.
func (t *Tally) CommandEnded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job.over = true
}

// daemonLag is how long before its mpirun the session of a daemon must end to count. If it ended
// later, its ranks may have been too short to be seen.
const daemonLag = 5 * time.Second

// Conclude closes the account before the command is judged. If the command failed early, Conclude
// applies the rule that Stalled applies later.
func (t *Tally) Conclude(failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job.noteEnds(t.now())
	if c, ok := verdict.Cause(t.job.troubles); failed && (!ok || c.Likely >= verdict.OfAftermath) {
		t.job.noDaemon(t.now(), daemonLag)
	}
	t.job.closed = true
}
