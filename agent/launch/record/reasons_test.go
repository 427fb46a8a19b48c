//go:build linux

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/rendezvous"
)

// TestReasons checks that unusual reasons are noted when they change.
func TestReasons(t *testing.T) {
	l := open(t, t.TempDir(), "a")
	for _, code := range []rendezvous.Code{rendezvous.Pending, rendezvous.Unschedulable, rendezvous.Unschedulable, rendezvous.ImagePull} {
		l.Reasons([]rendezvous.Line{{Reason: rendezvous.Reason{Code: rendezvous.Missing}}, {Name: "w-0", Reason: rendezvous.Reason{Code: code, Brief: string(code)}}})
	}
	var got []string
	for _, e := range read(t, l) {
		got = append(got, e.Detail)
	}
	require.Equal(t, []string{"Unschedulable", "ImagePull"}, got)
}

// TestWaitsSince checks that a wait for a node is noted at the time when it began. Otherwise a launcher that sees it
// late would note it after its end, which Kubernetes has in whole seconds.
func TestWaitsSince(t *testing.T) {
	l := open(t, t.TempDir(), "a")
	began, opened := time.Now().Add(-time.Minute).Truncate(time.Second), time.Now()
	for name, r := range map[string]rendezvous.Reason{
		"late":    {Code: rendezvous.Unschedulable, Since: began},
		"gated":   {Code: rendezvous.SchedulingGated, Since: began},
		"ahead":   {Code: rendezvous.Unschedulable, Since: opened.Add(time.Hour)},
		"unknown": {Code: rendezvous.Unschedulable},
		"pull":    {Code: rendezvous.ImagePull, Since: began},
	} {
		r.Brief = name
		l.Reasons([]rendezvous.Line{{Name: name, Reason: r}})
	}
	for _, e := range read(t, l) {
		if e.Detail == "late" || e.Detail == "gated" {
			require.True(t, began.Equal(e.Time), "%s: %s", e.Detail, e.Time)
		} else {
			require.WithinRange(t, e.Time, opened, time.Now(), e.Detail)
		}
	}
}
