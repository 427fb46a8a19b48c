package tally

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
)

func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New()
		a.Link("w-0", true, false)
		a.Link("w-1", true, false)
		a.Link("w-2", true, false)
		a.Link("w-3", false, false) // never connected
		a.Link("w-0", false, false)
		a.Link("w-0", false, false) // a redial that failed
		time.Sleep(3 * time.Second)
		a.Link("w-0", true, false)
		a.Link("w-1", false, true) // parked
		time.Sleep(time.Minute)
		a.Link("w-1", true, false)
		a.Link("w-2", false, false)
		a.Opened()
		a.Ended(verdict.BadSession{Worker: "w-0", Code: 7, What: "exited with 7"})
		require.True(t, a.Lose(verdict.Lost{Worker: "w-2", Cause: "gone"}))
		require.False(t, a.Lose(verdict.Lost{Worker: "w-2", Cause: "again"}))

		r := a.Figures()
		require.Equal(t, Figures{Sessions: 1, Links: 3, LinksHeld: 2, Redials: 1, Redialled: 1, GapsMS: []int64{3000},
			Lost: []verdict.Lost{{Worker: "w-2", Cause: "gone"}}}, r)
		var e verdict.Evidence
		a.Testify(&e)
		require.Equal(t, verdict.Evidence{Opened: 1, Lost: []verdict.Lost{{Worker: "w-2", Cause: "gone"}}, Bad: []verdict.BadSession{{Worker: "w-0", Code: 7, What: "exited with 7"}}}, e)
	})
}
