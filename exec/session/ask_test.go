//go:build linux

package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// TestFit checks that the answer fits in a frame for any names of processes, and that omitted
// processes are counted.
func TestFit(t *testing.T) {
	hostile := strings.Repeat("\x01", 15)
	var sessions []wire.SessionRecord
	var all []found
	for i := range 2000 {
		if i < 1000 {
			sessions = append(sessions, wire.SessionRecord{ID: strings.Repeat("<", longestID), Unread: 1 << 60})
		}
		all = append(all, found{i % 1000, wire.ProcessRecord{PID: i, Command: hostile, Rank: "1", Waiting: strings.Repeat("x", 64), Call: "recvfrom"}})
	}
	for _, n := range []int{0, 1, 3, 1000} {
		mine := all[:0:0]
		for _, f := range all {
			if f.session < n {
				mine = append(mine, f)
			}
		}
		answer := fit(sessions[:n], mine, 5)
		_, err := wire.Record(wire.Answer, 0, answer)
		require.NoError(t, err)
		there := 0
		for _, x := range answer.Sessions {
			there += len(x.Processes)
		}
		require.Equal(t, len(mine)+5, there+answer.Left)
	}
}

// TestRanksComeFirst checks that ranks are listed first, because a hang report is about ranks.
func TestRanksComeFirst(t *testing.T) {
	var all []found
	for i := range 1000 {
		all = append(all, found{rec: wire.ProcessRecord{PID: i, Command: "daemon"}})
	}
	all = append(all, found{rec: wire.ProcessRecord{PID: 1000, Rank: "7"}})
	answer := fit([]wire.SessionRecord{{ID: "s"}}, all, 0)
	require.Positive(t, answer.Left)
	require.Equal(t, "7", answer.Sessions[0].Processes[0].Rank)
}
