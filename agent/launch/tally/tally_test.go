package tally

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
)

func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New()
		for _, worker := range []string{"w-0", "w-1", "w-2"} {
			a.Link(worker, true)
		}
		a.Link("w-3", false) // never connected
		a.Link("w-0", false)
		a.Link("w-0", true)
		a.Link("w-2", false)
		a.Opened()
		a.Ended(verdict.BadSession{Worker: "w-0", Code: 7, What: "exited with 7"})
		require.Equal(t, 1, a.Lose(verdict.Lost{Worker: "w-2", Cause: "gone"}))
		require.Zero(t, a.Lose(verdict.Lost{Worker: "w-2", Cause: "again"}))

		r := a.Figures()
		require.Equal(t, Figures{Sessions: 1, LinksHeld: 2, Lost: []verdict.Lost{{Worker: "w-2", Cause: "gone"}}}, r)
		var e verdict.Evidence
		a.Testify(&e)
		require.Equal(t, verdict.Evidence{Opened: 1, Lost: []verdict.Lost{{Worker: "w-2", Cause: "gone"}}, Bad: []verdict.BadSession{{Worker: "w-0", Code: 7, What: "exited with 7"}}}, e)
	})
}
