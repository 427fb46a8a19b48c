package launch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
)

func TestTally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTally()
		a.link("w-0", true, false)
		a.link("w-1", true, false)
		a.link("w-2", true, false)
		a.link("w-3", false, false) // never there
		a.link("w-0", false, false)
		a.link("w-0", false, false) // a redial that failed
		time.Sleep(3 * time.Second)
		a.link("w-0", true, false)
		a.link("w-1", false, true) // parked
		time.Sleep(time.Minute)
		a.link("w-1", true, false)
		a.link("w-2", false, false)
		a.opened()
		a.ended(verdict.BadSession{Worker: "w-0", Code: 7, What: "exited with 7"})
		require.True(t, a.lose(verdict.Lost{Worker: "w-2", Cause: "gone"}))
		require.False(t, a.lose(verdict.Lost{Worker: "w-2", Cause: "again"}))

		var r Report
		a.fill(&r)
		require.Equal(t, Report{Sessions: 1, Links: 3, LinksHeld: 2, Redials: 1, Redialled: 1, GapsMS: []int64{3000},
			Lost: []verdict.Lost{{Worker: "w-2", Cause: "gone"}}}, r)
		var e verdict.Evidence
		a.testify(&e)
		require.Equal(t, verdict.Evidence{Opened: 1, Lost: []verdict.Lost{{Worker: "w-2", Cause: "gone"}}, Bad: []verdict.BadSession{{Worker: "w-0", Code: 7, What: "exited with 7"}}}, e)
	})
}
