package group

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheRestIsStoppedAfterTheWitness checks that the other processes run until the witness has
// examined them, but no longer than the witness time.
func TestTheRestIsStoppedAfterTheWitness(t *testing.T) {
	for name, tc := range map[string]struct {
		takes   time.Duration // 0 means no witness
		time    time.Duration
		stopped time.Duration // after the failure
	}{
		"no witness":                                       {0, 0, settleTime},
		"done while the failure settles":                   {100 * time.Millisecond, 1500 * time.Millisecond, settleTime},
		"done after the failure has settled":               {1200 * time.Millisecond, 1500 * time.Millisecond, 1200 * time.Millisecond},
		"not done in time":                                 {time.Hour, 1500 * time.Millisecond, 1500 * time.Millisecond},
		"the witness time is shorter than the settle time": {time.Hour, 500 * time.Millisecond, settleTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, stages := cast(nil, act{after: time.Second, code: 1}, act{}, act{})
				called := 0
				if tc.takes > 0 {
					cfg.WitnessTime = tc.time
					cfg.Witness = func(context.Context, Failure) <-chan struct{} {
						called++
						done := make(chan struct{})
						time.AfterFunc(tc.takes, func() { close(done) })
						return done
					}
				}
				began := time.Now()
				result := New(cfg).Run(context.Background())
				require.Equal(t, 1, result.Code)
				require.Equal(t, time.Second+tc.stopped, stages[1].stopped[0].Sub(began))
				if tc.takes > 0 {
					require.Equal(t, 1, called)
				}
			})
		})
	}
}

// TestWitnessChoosesTheFailure checks that failures are offered until one of them makes the witness look, and that the
// rest is stopped at once if none does.
func TestWitnessChoosesTheFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		says    []string
		offered []string
		stopped time.Duration // after the first failure
	}{
		"none":       {[]string{"a", "b"}, []string{"a", "b"}, settleTime},
		"the first":  {[]string{"timed out", "b"}, []string{"timed out"}, 1500 * time.Millisecond},
		"the second": {[]string{"a", "timed out"}, []string{"a", "timed out"}, 1600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, stages := cast(nil, act{after: time.Second, code: 1, says: tc.says[0] + "\n"}, act{after: 1100 * time.Millisecond, code: 1, says: tc.says[1] + "\n"}, act{})
				cfg.WitnessTime = 1500 * time.Millisecond
				var offered []string
				cfg.Witness = func(_ context.Context, f Failure) <-chan struct{} {
					offered = append(offered, f.Tail...)
					if f.Tail[0] == "timed out" {
						return make(chan struct{})
					}
					return nil
				}
				began := time.Now()
				require.Equal(t, 1, New(cfg).Run(context.Background()).Code)
				require.Equal(t, tc.offered, offered)
				require.Equal(t, time.Second+tc.stopped, stages[2].stopped[0].Sub(began))
			})
		})
	}
}

// TestNoWitnessAfterAllEnded checks that the group does not wait for a witness if all processes
// have ended.
func TestNoWitnessAfterAllEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast(nil, act{after: time.Second, code: 1}, act{after: 1100 * time.Millisecond, code: 1})
		cfg.WitnessTime = time.Hour
		cfg.Witness = func(context.Context, Failure) <-chan struct{} { return make(chan struct{}) }
		began := time.Now()
		New(cfg).Run(context.Background())
		require.Equal(t, 1100*time.Millisecond, time.Since(began))
	})
}

// TestFailuresAfterTheCause checks that a failure right after the cause is reported beside it,
// because a peer may end before the rank that really failed.
func TestFailuresAfterTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := cast(nil, act{after: time.Second, code: 1, says: "the peer has gone\n"}, act{after: 1010 * time.Millisecond, code: 1, says: "timed out\n"}, act{})
		result := New(cfg).Run(context.Background())
		require.Equal(t, "rank 0", result.Cause.Label)
		require.Len(t, result.Cause.Beside, 1)
		require.Equal(t, []string{"timed out"}, result.Cause.Beside[0].Tail)
	})
}
