//go:build linux

package session

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPhases checks which phases follow one another, and what each says about a session.
func TestPhases(t *testing.T) {
	arrows := map[phase][]phase{starting: {running, ended}, running: {detached, ended}, detached: {ended}, ended: nil}
	for from, next := range arrows {
		for to := range arrows {
			x := &session{phase: from}
			if !slices.Contains(next, to) {
				require.Panics(t, func() { x.enter(to) }, "from %s to %s", from, to)
				continue
			}
			x.enter(to)
			require.Equal(t, to, x.phase)
		}
		x := &session{phase: from}
		require.Equal(t, from != ended, x.lives(), from)
		require.Equal(t, from < detached, x.lasts(), from)
	}
}
