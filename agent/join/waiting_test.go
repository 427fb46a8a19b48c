//go:build linux

package join

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous/barrier"
)

// TestAMemberGivesUpAfterRankZero checks how long a member waits for an attempt. Rank 0 begins to count
// after its pause between two attempts, which is a minute at most.
func TestAMemberGivesUpAfterRankZero(t *testing.T) {
	const timeout = 30 * time.Second
	for name, row := range map[string]struct {
		away error
		most time.Duration
	}{
		"rank 0 is connected": {nil, timeout + time.Minute + 2*time.Second},
		"rank 0 is away":      {errors.New("no route"), timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &member{cfg: Config{Workers: 2, Timeout: timeout}, client: barrier.NewMember(barrier.MemberConfig{}), deadline: stopped(), lease: stopped(), away: row.away}
				began := time.Now()
				m.rest()
				for m.verdict == nil {
					<-m.deadline.C
					m.late()
				}
				require.Equal(t, names.ExitDeadline, m.verdict.Code)
				require.LessOrEqual(t, time.Since(began), row.most)
				if row.away == nil {
					require.Greater(t, time.Since(began), timeout+time.Minute)
				}
			})
		})
	}
}
