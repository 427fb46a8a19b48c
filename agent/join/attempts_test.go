package join

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

func TestEndOf(t *testing.T) {
	cards := table(3)
	all := func(change func([]barrier.Seat)) []barrier.Seat {
		var seats []barrier.Seat
		for _, c := range cards {
			seats = append(seats, barrier.Seat{Here: true, Card: c})
		}
		if change != nil {
			change(seats)
		}
		return seats
	}
	failed := func(x wire.ExitRecord, err error) group.Result {
		code := x.Code
		if err != nil {
			code = 76
		}
		return group.Result{Code: code, Cause: &group.Failure{End: group.End{Exit: x, Err: err}, Label: "rank 1", Worker: "job-1"}}
	}
	exited := failed(wire.ExitRecord{Code: 1}, nil)
	const sentence = "rank 1 on job-1 exited with 1"
	for _, row := range []struct {
		name    string
		result  group.Result
		seats   []barrier.Seat
		leaving map[int]bool
		want    retry.End
	}{
		{"a failure", exited, all(nil), nil, retry.End{Code: 1, Why: sentence}},
		{"a peer of a lost member", exited, all(func(s []barrier.Seat) { s[2].Here, s[2].Why = false, "its connection broke" }), nil,
			retry.End{Code: 76, Lost: true, Why: "rank 2 on job-2 was lost: its connection broke; " + sentence}},
		{"a peer of a member that was replaced", exited, all(func(s []barrier.Seat) { s[2].Card.Instance = "new" }), nil,
			retry.End{Code: 76, Lost: true, Why: "rank 2 on job-2 was lost: its pod or container was replaced; " + sentence}},
		{"a peer of a preempted member", exited, all(func(s []barrier.Seat) { s[2].Here = false }), map[int]bool{2: true},
			retry.End{Code: 1, Preempted: true, Why: "rank 2 on job-2 was told to stop from outside; " + sentence}},
		{"a preempted member", failed(wire.ExitRecord{Code: 143, Reason: wire.ReasonPreempted}, nil), all(nil), map[int]bool{1: true},
			retry.End{Code: 143, Preempted: true, Why: "rank 1 on job-1 was ended because its worker was told to stop from outside"}},
		{"a lost member", failed(wire.ExitRecord{}, &lostError{"gone"}), all(func(s []barrier.Seat) { s[1].Here = false }), nil,
			retry.End{Code: 76, Lost: true, Why: "rank 1 on job-1: gone"}},
		{"out of memory", failed(wire.ExitRecord{Code: 137, Signal: 9, OOM: 1}, nil), all(nil), nil,
			retry.End{Code: 137, OOM: true, Why: "rank 1 on job-1 was killed by SIGKILL: the kernel killed a process there for its memory (OOM)"}},
		{"rank 0's pod is told to stop", group.Result{Stopped: true}, all(nil), map[int]bool{0: true},
			retry.End{Code: 143, Preempted: true, Why: "rank 0 on job-0 was told to stop from outside"}},
	} {
		got, from := endOf(row.result, cards, row.seats, row.leaving)
		require.Equal(t, row.want, got, row.name)
		require.Contains(t, row.want.Why, from.rank+" on "+from.worker, row.name)
	}
}
