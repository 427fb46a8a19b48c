package join

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// TestJudge checks what a member's seat means for the state of its process.
func TestJudge(t *testing.T) {
	now := time.Now()
	const lease = time.Minute
	s := &session{chair: chair{instance: "i1", attempt: 2, process: 5}}
	here := barrier.Seat{Here: true, Card: barrier.Card{Instance: "i1"}}
	gone := here
	gone.Here, gone.Left, gone.Why = false, now.Add(-time.Second), "its connection broke"
	for _, row := range []struct {
		name  string
		seat  barrier.Seat
		told  done
		ended bool
		exit  wire.ExitRecord
		err   string
	}{
		{"it runs", here, done{Attempt: 2, Ends: []end{{Process: 4}}}, false, wire.ExitRecord{}, ""},
		{"it ended", here, done{Attempt: 2, Ends: []end{{5, wire.ExitRecord{Code: 7}}}}, true, wire.ExitRecord{Code: 7}, ""},
		{"an end of another attempt", here, done{Attempt: 1, Ends: []end{{5, wire.ExitRecord{Code: 7}}}}, false, wire.ExitRecord{}, ""},
		{"the member cannot take part", here, done{Attempt: 2, Broken: "no directory"}, true, wire.ExitRecord{Code: 126, Error: "no directory"}, ""},
		{"the member was disconnected a moment ago", gone, done{Attempt: 2}, false, wire.ExitRecord{}, ""},
		{"the process ended before the member was disconnected", gone, done{Attempt: 2, Ends: []end{{5, wire.ExitRecord{Code: 7}}}}, true, wire.ExitRecord{Code: 7}, ""},
		{"the member was told to stop and disconnected", func() barrier.Seat { s := gone; s.News.Leaving = "told"; return s }(), done{Attempt: 2}, true,
			wire.ExitRecord{Code: 143, Reason: wire.ReasonPreempted}, ""},
		{"the member was told to stop and is still connected", func() barrier.Seat { s := here; s.News.Leaving = "told"; return s }(), done{Attempt: 2}, false, wire.ExitRecord{}, ""},
		{"the member was disconnected for the lease", func() barrier.Seat { s := gone; s.Left = now.Add(-lease); return s }(), done{Attempt: 2}, true,
			wire.ExitRecord{}, "it did not come back within 1m0s: its connection broke"},
		{"replaced", func() barrier.Seat { s := here; s.Card.Instance = "i2"; return s }(), done{Attempt: -1}, true,
			wire.ExitRecord{}, "its pod or container was replaced"},
	} {
		exit, err, ended := s.judge(row.seat, &row.told, lease, now)
		require.Equal(t, row.ended, ended, row.name)
		require.Equal(t, row.exit, exit, row.name)
		if row.err == "" {
			require.NoError(t, err, row.name)
		} else {
			require.EqualError(t, err, row.err, row.name)
		}
	}
}
