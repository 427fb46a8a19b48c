package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func account(t *testing.T, most int, list string) *Account {
	t.Helper()
	classes, err := Parse(list)
	require.NoError(t, err)
	return &Account{Policy: Policy{Max: most, On: classes}}
}

// start is when the run of each test starts.
var start = time.Unix(1_700_000_000, 0)

var (
	killed    = End{Code: 137, Why: "rank 3 on worker-2 was killed by SIGKILL", Lasted: time.Hour}
	preempted = End{Code: 143, Why: "worker-2 is being drained", Preempted: true, Lasted: time.Hour}
)

func TestAttemptsAreCounted(t *testing.T) {
	a := account(t, 2, Default)
	require.Equal(t, Decision{Again: true, Counted: true, Next: 1, Action: Restart, Sentence: "attempt 2 of 3: rank 3 on worker-2 was killed by SIGKILL"}, a.Decide(killed, start))
	require.Equal(t, "attempt 3 of 3: rank 3 on worker-2 was killed by SIGKILL", a.Decide(killed, start).Sentence)
	require.Equal(t, Decision{Counted: true, Next: 3, Sentence: "no restart: all 3 attempts are used up"}, a.Decide(killed, start))
}

func TestWithoutRestarts(t *testing.T) {
	for _, e := range []End{killed, preempted, {Code: 76, Lost: true}} {
		require.Equal(t, Decision{Counted: true, Next: 1}, account(t, 0, Default).Decide(e, start), "without restarts, no decision mentions them")
	}
}

func TestPermanent(t *testing.T) {
	for list, e := range map[string]End{"139": {Code: 139}, "oom": {Code: 137, OOM: true}, "1": {Code: 1}} {
		d := account(t, 3, Default).Decide(e, start)
		require.False(t, d.Again)
		require.Contains(t, d.Sentence, "permanent")
		require.Equal(t, "--restart-on=+"+list+" adds it to what is retried by default", d.Hint)
		d = account(t, 3, "+"+list).Decide(e, start)
		require.True(t, d.Again, "the flag of the hint makes the failure retryable")
	}
}

func TestPreemptionUsesUpNothing(t *testing.T) {
	a := account(t, 1, Default)
	for i := range 100 {
		d := a.Decide(preempted, start)
		require.True(t, d.Again)
		require.False(t, d.Counted)
		require.Equal(t, i+1, d.Next)
	}
	d := a.Decide(killed, start)
	require.True(t, d.Again)
	require.Equal(t, "attempt 102 of 102: "+killed.Why, d.Sentence)
	require.Equal(t, "attempt 103 of 103: worker-2 is being drained; this does not count as a restart", a.Decide(preempted, start).Sentence)
	require.False(t, a.Decide(killed, start).Again)
}

func TestPreemptionCountsBeforeTheCode(t *testing.T) {
	for _, e := range []End{{Code: 1}, {Code: 139}, {Code: 76, Lost: true}, {Code: 137, OOM: true}} {
		e.Preempted, e.Lasted = true, time.Hour
		d := account(t, 1, "130").Decide(e, start)
		require.True(t, d.Again)
		require.False(t, d.Counted)
	}
}

// TestNothingIsRetriedForEver checks that a run whose attempts are all brief ends, in whatever
// order preemptions and failures come.
func TestNothingIsRetriedForEver(t *testing.T) {
	for _, ends := range [][]End{{{Code: 143, Preempted: true}}, {{Code: 137}}, {{Code: 143, Preempted: true}, {Code: 137}}} {
		a := account(t, 3, Default)
		attempts := 0
		for {
			attempts++
			require.LessOrEqual(t, attempts, 3+mostFree+1)
			if !a.Decide(ends[attempts%len(ends)], start).Again {
				break
			}
		}
		require.GreaterOrEqual(t, attempts, 4)
	}
}

func TestPause(t *testing.T) {
	a := account(t, 100, Default)
	soon, late := killed, killed
	soon.Lasted = Brief - time.Nanosecond
	late.Lasted = Brief
	var pauses []time.Duration
	for range 9 {
		pauses = append(pauses, a.Decide(soon, start).Pause/time.Second)
	}
	require.Equal(t, []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60}, pauses)
	require.Zero(t, a.Decide(late, start).Pause)
	require.Zero(t, a.Decide(soon, start).Pause)
	d := a.Decide(soon, start)
	require.Equal(t, time.Second, d.Pause)
	require.Equal(t, "attempt 13 of 101 in 1 s: "+killed.Why, d.Sentence)
}

func TestAskedFor(t *testing.T) {
	var a Account
	d := a.Decide(End{Code: 143, Why: "worker pi-3 joined", Asked: true}, start)
	require.Equal(t, Decision{Again: true, Next: 1, Action: Restart, Sentence: "attempt 2 of 2: worker pi-3 joined"}, d)
	require.False(t, a.Decide(killed, start).Again)
}
