//go:build linux

package record

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
)

// TestFiguresOfLinks checks that the figures do not need the file, which is bounded, and that a worker
// in the place of a lost one has lost nothing.
func TestFiguresOfLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idle(t)
		l.most = 1000
		note := func(kind event.Kind, worker string) {
			l.Worker(kind, worker, "", "")
			l.flush()
		}
		for _, worker := range []string{"w-0", "w-1", "w-2"} {
			note(event.Linked, worker)
		}
		note(event.LinkLost, "w-3") // it was never connected
		note(event.LinkBack, "w-3")
		for range 20 {
			note(event.LinkLost, "w-0")
			time.Sleep(3 * time.Second)
			note(event.LinkBack, "w-0")
		}
		note(event.LinkLost, "w-1")
		time.Sleep(time.Minute)
		note(event.Linked, "w-1") // another pod
		note(event.LinkBack, "w-1")
		note(event.LinkLost, "w-2")
		time.Sleep(1500 * time.Microsecond)
		note(event.LinkBack, "w-2")
		got := l.Links()
		require.Equal(t, Links{Ever: 3, Redials: 21, Redialled: 2, GapsMS: got.GapsMS}, got)
		require.Len(t, got.GapsMS, 21)
		require.EqualValues(t, 3000, got.GapsMS[0])
		require.EqualValues(t, 1, got.GapsMS[20])
		kept := 0
		_, err := l.Each(func(event.Event) { kept++ })
		require.NoError(t, err)
		require.Less(t, kept, 40, "the file has forgotten most events")
	})
	var none *Log
	require.Zero(t, none.Links())
}
