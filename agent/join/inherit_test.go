package join

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// TestANewRankZeroCountsRestarts checks that a replacement of rank 0 treats the end of its first
// attempt as the former rank 0 would have. One restart of attempt 0 was used up before.
func TestANewRankZeroCountsRestarts(t *testing.T) {
	drained := retry.End{Code: 143, Preempted: true, Why: "rank 1 on job-1 was told to stop from outside", Lasted: time.Hour}
	killed := retry.End{Code: 137, Why: "rank 1 on job-1 was killed by SIGKILL", Lasted: time.Hour}
	broken := retry.End{Code: 1, Why: "rank 1 on job-1 exited with 1", Lasted: time.Hour}
	for _, row := range []struct {
		name    string
		most    int
		settled bool // the former rank 0 had decided about attempt 0
		end     retry.End
		again   bool
		attempt int
		why     string
	}{
		{"a drain", 1, true, drained, true, 2, "attempt 3 of 3: " + drained.Why + "; this does not count as a restart"},
		{"a drain after the loss of rank 0", 1, false, drained, true, 2, "attempt 3 of 3: " + drained.Why + "; this does not count as a restart"},
		{"one restart is left", 2, true, killed, true, 2, "attempt 3 of 3: " + killed.Why},
		{"no restart is left", 1, true, killed, false, 1, killed.Why + "; no restart: all 2 attempts are used up"},
		{"a permanent failure", 1, true, broken, false, 1, broken.Why + "; no restart: exit code 1, which is permanent"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := newLead(Config{Workers: 2, MaxRestarts: row.most, RestartOn: retry.Default}, barrier.NewCoordinator(barrier.Config{Size: 2}), place{}, t.Logf)
			require.NoError(t, err)
			used := 0
			if row.settled {
				used = 1
			}
			seats := []barrier.Seat{{News: barrier.News{Attempt: -1}}, {News: barrier.News{Attempt: 0, Used: used, Work: text(done{Settled: row.settled})}}}
			var o barrier.Order
			require.Nil(t, l.inherit(table(2), seats, &o))
			require.Equal(t, 1, o.Attempt)
			require.Equal(t, 1, o.Used)
			failed := l.again(row.end, origin{}, &o)
			require.Equal(t, row.again, failed == nil)
			require.Equal(t, row.attempt, o.Attempt)
			if failed != nil {
				o = *failed
			}
			require.Equal(t, row.why, o.Why)
		})
	}
}

// TestANewRankZeroWithoutRestarts checks that the loss of rank 0 ends the job if no restart is left.
func TestANewRankZeroWithoutRestarts(t *testing.T) {
	for most, want := range []string{"", "; no restart: all 2 attempts are used up"} {
		l, err := newLead(Config{Workers: 2, MaxRestarts: most, RestartOn: retry.Default}, barrier.NewCoordinator(barrier.Config{Size: 2}), place{}, t.Logf)
		require.NoError(t, err)
		seats := []barrier.Seat{{News: barrier.News{Attempt: most, Used: most, Work: text(done{Attempt: most})}}}
		failed := l.inherit(table(2), seats, &barrier.Order{})
		require.NotNil(t, failed)
		require.Equal(t, 76, failed.Code)
		require.Equal(t, most, failed.Attempt)
		require.Regexp(t, `^rank 0 was lost during attempt \d: job-0 is its replacement`+want+`$`, failed.Why)
	}
}
