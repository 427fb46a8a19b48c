package link

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

func TestPhaseTransitionsFollowTheDiagram(t *testing.T) {
	arrows := map[phase][]phase{
		fresh:    {up},
		up:       {down, parked},
		down:     {up},
		parked:   {up, down, renewing},
		renewing: {up, down},
	}
	for from := range arrows {
		for to := range arrows {
			move := func() { (&standing{phase: from}).transition(to, time.Now()) }
			if slices.Contains(arrows[from], to) {
				require.NotPanics(t, move, "%s to %s", from, to)
			} else {
				require.Panics(t, move, "%s to %s", from, to)
			}
		}
	}
}

func TestTransitionCountsLossesButNotParking(t *testing.T) {
	born := time.Now()
	s := standing{since: born}
	for i, to := range []phase{up, parked, renewing, up, down, up, parked, down} {
		s.transition(to, born.Add(time.Duration(i+1)*time.Second))
	}
	require.Equal(t, 1, s.redials)
	require.Equal(t, time.Second, s.lasted, "duration of the last connection")
	require.Equal(t, born.Add(8*time.Second), s.since)
	require.False(t, s.parked())
}

func TestRenewingKeepsTheTimeOfParking(t *testing.T) {
	born := time.Now()
	s := standing{since: born}
	s.transition(up, born.Add(time.Second))
	s.transition(parked, born.Add(2*time.Second))
	s.transition(renewing, born.Add(time.Hour))
	require.Equal(t, born.Add(2*time.Second), s.since)
	require.True(t, s.parked())
}

// TestRefused checks what each reason of a REFUSE means for the link.
func TestRefused(t *testing.T) {
	for reason, kind := range map[string]Kind{
		wire.RefuseVersion: Incompatible, wire.RefuseSuperseded: Superseded, wire.RefuseJob: OtherJob,
		wire.RefuseEnding: Ending, wire.RefusePeer: Barred, "of a later release": Incompatible,
	} {
		require.Equal(t, kind, kindOf(refused(wire.RefuseRecord{Reason: reason, Message: "why"})), reason)
	}
}
