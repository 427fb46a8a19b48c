//go:build linux

package reap

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMessagesOfStops(t *testing.T) {
	require.Equal(t, "stopping 4 ranks, up to 85 s for saving", Stopping(Count(4, "rank"), 85*time.Second))
	require.Equal(t, "stopping 1 process, up to 0.3 s for saving", Stopping(Count(1, "process"), 300*time.Millisecond))
	by := func(after time.Duration, killed bool, name string) Ended {
		return Ended{Name: name, After: after, Killed: killed}
	}
	all := []Ended{by(3*time.Second, false, "rank 0"), by(42*time.Second, false, "rank 1"), by(85*time.Second, true, "rank 2 on pi-worker-1"), by(time.Second, false, "rank 3")}
	for want, list := range map[string][]Ended{
		"3 of 4 ended by themselves after 42 s; rank 2 on pi-worker-1 was killed": all,
		"2 ranks ended by themselves after 42 s":                                  all[:2],
		"1 of 2 ended by themselves after 42 s; how rank 1 on pi-worker-1 ended is not known": {
			{Name: "rank 0", After: 42 * time.Second}, {Name: "rank 1 on pi-worker-1", After: 50 * time.Second, Unknown: true}},
		"how rank 1 ended is not known":      {{Name: "rank 1", Unknown: true}},
		"rank 0 ended by itself after 3 s":   all[:1],
		"the rank ended by itself after 3 s": {by(3*time.Second, false, "")},
		"rank 2 on pi-worker-1 was killed":   all[2:3],
		"a, a, a and 2 more were killed":     {by(0, true, "a"), by(0, true, "a"), by(0, true, "a"), by(0, true, "a"), by(0, true, "a")},
	} {
		require.Equal(t, want, Stopped(list, "rank"))
	}
}

// TestDrainReportsHowRanksEnded lets one rank end by itself, and kills another. A script and the
// command that it waits for count as one rank.
func TestDrainReportsHowRanksEnded(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	_, one := sh(t, r, "s1", `RANK=0 LOCAL_RANK=5 exec sh -c 'trap exit TERM; echo ready; while :; do sleep 0.1; done'`, true)
	_, two := sh(t, r, "s1", `LOCAL_RANK=1 exec sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'`, true)
	defer one.Close()
	defer two.Close()
	got, err := r.Drain(t.Context(), finder("s1"), syscall.SIGTERM, time.Second)
	require.NoError(t, err)
	require.Len(t, got.Ranks, 2)
	for _, o := range got.Ranks {
		require.NotZero(t, o.PID)
		require.Equal(t, o.Rank == "1", o.Killed, o.Rank)
		require.Positive(t, o.After)
	}
	empty(t, 1)
}
