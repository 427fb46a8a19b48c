package tally

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
)

// TestLabelsOfTwoAttempts checks that the labels of sessions do not grow with the number of attempts, and
// that a report of the last attempt that comes late still finds its label.
func TestLabelsOfTwoAttempts(t *testing.T) {
	a := New()
	a.Name("s-0", "rank 0")
	a.Again()
	a.Name("s-1", "rank 1")
	require.Equal(t, []string{"rank 0", "rank 1"}, []string{a.LabelOf("s-0"), a.LabelOf("s-1")})
	a.Again()
	require.Equal(t, []string{"", "rank 1"}, []string{a.LabelOf("s-0"), a.LabelOf("s-1")})
	for range 1000 {
		a.Name("s-2", "rank 2")
		a.Again()
	}
	require.LessOrEqual(t, len(a.labels)+len(a.older), 2)
}

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
