//go:build linux

package reap

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPausesBetweenScans checks that a stop scans less often where scans take long, and soon after the end of a
// child.
func TestPausesBetweenScans(t *testing.T) {
	for _, c := range []struct {
		name        string
		took        time.Duration
		ended       bool // a child
		until, want time.Duration
	}{
		{"short scan", time.Microsecond, false, time.Minute, firstPause},
		{"long scan", 30 * time.Millisecond, false, time.Minute, 300 * time.Millisecond},
		{"starved scan", 5 * time.Second, false, time.Minute, longPause},
		{"end of the grace", 30 * time.Millisecond, false, 50 * time.Millisecond, 50 * time.Millisecond},
		{"child", time.Microsecond, true, time.Minute, settle},
		{"child, long scan", 30 * time.Millisecond, true, time.Minute, 30 * time.Millisecond},
		{"child, starved scan", 5 * time.Second, true, time.Minute, longPause},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				woken := make(chan struct{})
				if c.ended {
					close(woken)
				}
				began := time.Now()
				s := stop{pause: firstPause, took: c.took}
				require.NoError(t, s.wait(t.Context(), woken, began.Add(c.until)))
				require.Equal(t, c.want, time.Since(began))
			})
		})
	}
}
