package join

import (
	"encoding/json"
	"slices"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// mostPast is how many attempts members are told: half of them the first ones, which may hold the
// cause, and half the last ones. mostWhy limits the reason of each in bytes. Both are limited
// because every member holds all of them.
const (
	mostPast = 8
	mostWhy  = 500
)

// remember adds a finished attempt to the earlier ones.
func remember(past []retry.Tried, one retry.Tried) []retry.Tried {
	one.Why = retry.Clip(one.Why, mostWhy)
	past = append(slices.Clone(past), one)
	if n := len(past); n > mostPast {
		past = slices.Delete(past, mostPast/2, n-mostPast/2)
	}
	return past
}

// pastIn decodes earlier attempts. It returns none if another release encoded them differently.
func pastIn(told json.RawMessage) []retry.Tried {
	var past []retry.Tried
	if json.Unmarshal(told, &past) != nil {
		return nil
	}
	return past
}

// concluded returns the attempts of a job that ended with that order, including the last. tried
// holds the attempts that the member was told. last is the newest attempt in which the member took
// part, or -1.
func concluded(o barrier.Order, tried json.RawMessage, last int) []retry.Tried {
	past := pastIn(tried)
	attempt := o.Attempt
	if o.Phase == barrier.PhaseOver {
		past = pastIn(o.Past)
	} else {
		attempt = last // this member ends by itself
	}
	if n := len(past); attempt < 0 || n > 0 && past[n-1].Attempt == attempt {
		return past
	}
	return remember(past, retry.Tried{Attempt: attempt, Code: o.Code, Why: whyOf(o), Counted: true})
}

// origin is where the end of an attempt began, if known.
type origin struct {
	worker string // pod name
	rank   string // "rank 3", "ps 0"
}

// tried returns the attempt of o, which has ended with e.
func tried(o barrier.Order, e retry.End, from origin) retry.Tried {
	code := e.Code
	if code == 0 {
		code = names.ExitHopeless
	}
	return retry.Tried{Attempt: o.Attempt, Code: code, Why: e.Why, Worker: from.worker, Rank: from.rank, Seconds: e.Lasted.Seconds(), Port: o.Port}
}
