package join

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/names"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// again decides what follows from an attempt's end: nil when another one is to be
// gathered, whose order o becomes, else the job's end, or for rank 0 the end of its
// part in it.
func (l *lead) again(e retry.End, o *barrier.Order) *barrier.Order {
	d := l.account.Decide(e)
	failed := &barrier.Order{Phase: barrier.PhaseOver, Attempt: o.Attempt, Code: e.Code, Why: e.Why, Hint: d.Hint}
	if !d.Again {
		if d.Sentence != "" {
			failed.Why += "; " + d.Sentence
		}
		return failed
	}
	if d.Counted {
		o.Used++
	}
	o.Attempt, o.Port = l.base+d.Next, 0
	o.Why = d.Sentence
	next := *o
	next.Phase = barrier.PhaseGather
	if err := l.coord.Tell(next); err != nil {
		return over(*o, err)
	}
	timer := time.NewTimer(d.Pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.quit:
	}
	if l.quits() {
		return &next // the members wait for our replacement, and tell it how far we came
	}
	return nil
}

// endOf tells retry how an attempt ended.
func endOf(r group.Result) retry.End {
	if r.Cause == nil {
		return retry.End{Code: 128 + int(syscall.SIGTERM), Preempted: true, Why: "rank 0's pod was told to stop from outside"}
	}
	c, x := r.Cause, r.Cause.Exit
	var lost *lostError
	return retry.End{
		Code: r.Code, Why: c.Sentence() + besides(r.Others),
		Lost:      errors.As(c.Err, &lost),
		OOM:       x.OOM > 0 && x.Signal == int(syscall.SIGKILL),
		Preempted: x.Reason == wire.ReasonPreempted,
	}
}

// inherit takes over, at the first barrier, what a former coordinator has left in
// its members: the attempts that were, and the restarts that are used up.
func (l *lead) inherit(table []barrier.Card, o *barrier.Order) *barrier.Order {
	if l.ports != nil {
		return nil
	}
	newest, settled := barrier.News{Attempt: -1}, false
	for _, s := range l.coord.Seats() {
		d := done{Attempt: -1}
		_ = json.Unmarshal(s.News.Work, &d) // of another release, and says nothing then
		if s.News.Attempt > newest.Attempt {
			newest, settled = s.News, false
		}
		settled = settled || d.Settled && s.News.Attempt == newest.Attempt
		newest.Used = max(newest.Used, s.News.Used)
	}
	l.ports = newPorts(l.cfg.Port, newest.Port)
	if newest.Attempt < 0 {
		return nil
	}
	l.base = newest.Attempt + 1
	o.Attempt, o.Used = l.base, newest.Used
	if settled {
		l.account.Policy.Max -= o.Used
		return nil // it had been decided, and told, that there is another attempt
	}
	why := fmt.Sprintf("rank 0 was lost during attempt %d: %s is its replacement", newest.Attempt, table[0].Name)
	classes := l.account.Policy.On
	allowed := retry.Account{Policy: retry.Policy{Max: l.cfg.MaxRestarts - o.Used, On: classes}}
	d := allowed.Decide(retry.End{Code: names.ExitHopeless, Why: why, Lost: true, Lasted: retry.Brief})
	if !d.Again {
		end := &barrier.Order{Phase: barrier.PhaseOver, Attempt: newest.Attempt, Code: names.ExitHopeless, Why: why, Hint: d.Hint}
		if d.Sentence != "" {
			end.Why += "; " + d.Sentence
		}
		return end
	}
	o.Used++
	l.account.Policy.Max = l.cfg.MaxRestarts - o.Used
	l.say("%s", why)
	return nil
}
