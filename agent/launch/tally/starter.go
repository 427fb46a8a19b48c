package tally

import (
	"crypto/sha256"
	"slices"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
)

// sshLauncher is a launcher such as deepspeed that starts sessions by ssh or pdsh, and what is
// known about these sessions. It may be the command, or a part of it.
type sshLauncher struct {
	launched
	says   framework.Starter
	orders []*order
}

// order is one session that a starter asked for.
type order struct {
	worker string
	line   [sha256.Size]byte   // hash of its command: lines may have 100 KB
	begun  int                 // the moment of its start; see job.moments
	ended  int                 // the moment of its end; 0: it still runs
	bad    *verdict.BadSession // nil: it did not fail by itself
	well   bool                // it ended with 0
}

// starterOf returns the known starter with this process, or records a new one. A new starter shows
// that the command has gone on from the earlier starters that ended.
func (j *job) starterOf(by Launcher, says framework.Starter) *sshLauncher {
	for _, s := range j.starters {
		if s.proc.Is(by) {
			by.Close()
			return s
		}
	}
	j.goOn()
	s := &sshLauncher{launched: launched{proc: by}, says: says}
	j.starters = append(j.starters, s)
	return s
}

// Ordered records that a starter asks for a session with this command. It skips probes, because the
// exit code of a probe is an answer.
func (t *Tally) Ordered(worker, id, line string, by Launcher, says framework.Starter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.job.starterOf(by, says)
	if framework.IsProbe(line) {
		return
	}
	t.job.moments++
	o := &order{worker: worker, line: sha256.Sum256([]byte(line)), begun: t.job.moments}
	s.orders = append(s.orders, o)
	t.job.orders[id] = o
}

// RefusedOrder records a session that a starter asked for on a host that is no worker.
func (t *Tally) RefusedOrder(refusal error, by Launcher, says framework.Starter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.job.starterOf(by, says)
	t.job.moments++
	s.orders = append(s.orders, &order{begun: t.job.moments, ended: t.job.moments,
		bad: &verdict.BadSession{Code: names.ExitTransport, What: phrase.OneLine(refusal)}})
}

// fulfilled records the end of a session. bad says how it failed by itself; nil if it did not.
func (j *job) fulfilled(id string, well bool, bad *verdict.BadSession) {
	if o := j.orders[id]; o != nil {
		j.moments++
		o.ended, o.well, o.bad = j.moments, well, bad
	}
}

// failed lists the sessions of a starter that count as failed, in the order of their ends. A
// session has failed if it ended badly by itself and no retry of it ended well, or if it outlives
// its starter. An elastic starter tolerates failures as long as one session ends well.
func (s *sshLauncher) failed() (list []verdict.BadSession) {
	well := slices.ContainsFunc(s.orders, func(o *order) bool { return o.well })
	if s.says.Elastic && well {
		return nil
	}
	byEnd := slices.Clone(s.orders)
	slices.SortStableFunc(byEnd, func(a, b *order) int { return a.ended - b.ended })
	for _, o := range byEnd {
		switch {
		case o.bad != nil && !s.wonLater(o):
			list = append(list, *o.bad)
		case o.ended == 0 && !s.says.Elastic && s.proc.Ended():
			list = append(list, verdict.BadSession{Worker: o.worker, Code: names.ExitHopeless, What: "still ran when it ended"})
		}
	}
	return list
}

// wonLater reports whether a retry succeeded: the starter ran the same command on the same worker
// again after that session had ended, and the retry ended well.
func (s *sshLauncher) wonLater(old *order) bool {
	return slices.ContainsFunc(s.orders, func(o *order) bool {
		return o.worker == old.worker && o.line == old.line && o.begun > old.ended && o.well
	})
}

// starterEnds lists how the starters ended, in the order of their starts.
func (j *job) starterEnds() (list []verdict.StarterEnd) {
	for _, s := range j.starters {
		end := verdict.StarterEnd{LaunchEnd: s.end(), Bad: s.failed()}
		end.Name, end.Passed = s.says.Name, end.Passed || s.says.Trials
		list = append(list, end)
	}
	return list
}

// OpenOrders counts the running sessions that starters have asked for.
func (t *Tally) OpenOrders() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.job.starters {
		for _, o := range s.orders {
			if o.ended == 0 {
				n++
			}
		}
	}
	return n
}
