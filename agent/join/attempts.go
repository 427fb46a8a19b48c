package join

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// again decides what follows after an attempt. It returns nil if another attempt will be gathered,
// whose order is then in o. Otherwise it returns the end of the job, or, on rank 0, the end of its
// own part.
func (l *lead) again(e retry.End, from origin, o *barrier.Order) *barrier.Order {
	d := l.account.Decide(e, time.Now())
	one := tried(*o, e, from)
	one.Counted = d.Counted
	l.past = remember(l.past, one)
	o.Past = text(l.past)
	failed := &barrier.Order{Phase: barrier.PhaseOver, Attempt: o.Attempt, Code: e.Code, Why: e.Why, Hint: d.Hint, Past: o.Past}
	if !d.Again {
		if d.Sentence != "" {
			failed.Why += "; " + d.Sentence
		}
		return failed
	}
	if d.Counted {
		o.Used++
	}
	o.Attempt, o.Port = d.Next, 0
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
		return &next // the members wait for our replacement, and tell it the attempts so far
	}
	return nil
}

// endOf converts the result of an attempt for package retry, and finds where the end began. seats
// are those after the attempt, and leaving are the ranks whose pods were told to stop during it. A
// pod that goes makes its peers fail, often with an exit code of their own, and sometimes before
// its own end is known. So a departure takes precedence over a failure.
func endOf(r group.Result, table []barrier.Card, seats []barrier.Seat, leaving map[int]bool) (e retry.End, from origin) {
	e = retry.End{Code: 128 + int(syscall.SIGTERM)}
	if r.Cause != nil {
		x := r.Cause.Exit
		var lost *lostError
		from = origin{r.Cause.Worker, r.Cause.Label}
		e = retry.End{Code: r.Code, Why: r.Cause.Sentence() + besides(r.Others),
			Lost:      errors.As(r.Cause.Err, &lost),
			Infra:     x.Reason == wire.ReasonLease,
			OOM:       x.OOM > 0 && x.Signal == int(syscall.SIGKILL),
			Preempted: x.Reason == wire.ReasonPreempted}
	}
	for rank, card := range table {
		label := fmt.Sprintf("rank %d", rank)
		who := label + " on " + card.Name
		switch seat := seats[rank]; {
		case leaving[rank] && !e.Preempted:
			from = origin{card.Name, label}
			e.Preempted, e.Why = true, besideThat(who+" was told to stop from outside", e.Why)
		case leaving[rank]:
		case (seat.Card.Instance != card.Instance || !seat.Here) && !e.Lost:
			from = origin{card.Name, label}
			e.Lost, e.Code = true, names.ExitHopeless
			e.Why = besideThat(who+" was lost: "+absenceOf(seat, card), e.Why)
		}
	}
	return e, from
}

func besideThat(first, then string) string {
	if then == "" {
		return first
	}
	return first + "; " + then
}

// absenceOf says how the member with this card left.
func absenceOf(seat barrier.Seat, card barrier.Card) string {
	if seat.Card.Instance != card.Instance {
		return "its pod or container was replaced"
	}
	return seat.Why
}

// inherit takes over, at the first barrier, what the members know from a former coordinator: the
// attempts so far, and the restarts used up.
func (l *lead) inherit(table []barrier.Card, seats []barrier.Seat, o *barrier.Order) *barrier.Order {
	if l.ports != nil {
		return nil
	}
	newest, settled := barrier.News{Attempt: -1}, false
	for _, s := range seats {
		d := done{Attempt: -1}
		_ = json.Unmarshal(s.News.Work, &d) // from another release; it then counts as empty
		if s.News.Attempt > newest.Attempt {
			newest, settled = s.News, false
		}
		if past := pastIn(d.Past); len(past) > len(l.past) {
			l.past = past
		}
		settled = settled || d.Settled && s.News.Attempt == newest.Attempt
		newest.Used = max(newest.Used, s.News.Used)
	}
	l.ports = newPorts(l.cfg.Port, newest.Port)
	if newest.Attempt < 0 {
		return nil
	}
	if settled {
		l.account.Continue(newest.Attempt+1, newest.Used)
		o.Past, o.Attempt, o.Used = text(l.past), newest.Attempt+1, newest.Used
		return nil // this attempt had been decided and announced already
	}
	why := fmt.Sprintf("rank 0 was lost during attempt %d: %s is its replacement", newest.Attempt, table[0].Name)
	l.past = remember(l.past, retry.Tried{Attempt: newest.Attempt, Code: names.ExitHopeless, Why: why, Worker: table[0].Name, Rank: "rank 0", Port: newest.Port, Counted: true})
	o.Past = text(l.past)
	l.account.Continue(newest.Attempt, newest.Used)
	d := l.account.Decide(retry.End{Code: names.ExitHopeless, Why: why, Lost: true, Lasted: retry.Brief}, time.Now())
	if !d.Again {
		end := &barrier.Order{Phase: barrier.PhaseOver, Attempt: newest.Attempt, Code: names.ExitHopeless, Why: why, Hint: d.Hint, Past: o.Past}
		if d.Sentence != "" {
			end.Why += "; " + d.Sentence
		}
		return end
	}
	o.Attempt, o.Used = d.Next, newest.Used+1
	l.say("%s", why)
	return nil
}
