//go:build !race

package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
)

// TestPageStaysSmall checks that a run with more events than fit is merged and cut, and that the page says so. It
// starts no goroutine, so it does not run under the race detector.
func TestPageStaysSmall(t *testing.T) {
	var all []event.Event
	for i := range 1000 {
		name := fmt.Sprint("w-", i)
		all = append(all, at(0, event.PodCreated, name), at(1, event.Linked, name))
		for j := range 150 {
			cut := at(float64(10+10*j), event.LinkLost, name)
			cut.Detail = fmt.Sprintf("connection %d of worker %d: <reset>", j, i)
			all = append(all, cut)
		}
	}
	for i := range 150 { // each adds two spans to each worker
		all = append(all, at(float64(20+10*i), event.CheckStarted, ""), at(float64(21+10*i), event.Checked, ""))
	}
	all = append(all, at(9, event.Stalled, ""), at(5000, event.RunEnded, ""))
	line := Build(all, time.Time{})
	text := page(t, line)
	t.Logf("%d KiB", len(text)>>10)
	require.Less(t, len(text), mostPage)
	has(t, string(text), " are drawn as one")
	has(t, string(text), "less important events are left out")
	has(t, string(text), "events are shown without their detail")
	require.Equal(t, []string{"stalled", "link-lost"}, dataOf(t, text).Kinds)
}
