package launch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
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
		a.ended(BadSession{"w-0", 7, "exited with 7"})
		require.True(t, a.lose(Lost{Worker: "w-2", Cause: "gone"}))
		require.False(t, a.lose(Lost{Worker: "w-2", Cause: "again"}))

		var r Report
		a.fill(&r)
		require.Equal(t, Report{Sessions: 1, Links: 3, LinksHeld: 2, Redials: 1, Redialled: 1, GapsMS: []int64{3000},
			Lost: []Lost{{Worker: "w-2", Cause: "gone"}}}, r)
		var e Evidence
		a.testify(&e)
		require.Equal(t, Evidence{Opened: 1, Lost: []Lost{{Worker: "w-2", Cause: "gone"}}, Bad: []BadSession{{"w-0", 7, "exited with 7"}}}, e)
	})
}
