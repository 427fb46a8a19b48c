//go:build speed

package network

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const megabyte = 1e6

// TestScale launches one job on n workers.
func TestScale(t *testing.T) {
	sizes(t, func(t *testing.T, n int) {
		w := newWorld(t, n)
		lines := 0
		var last time.Duration
		o := w.run(fmt.Sprintf("echo begun; exec sleep %d", until(n)), func(o *outcome, line string, at time.Time) {
			if strings.HasSuffix(line, "begun") {
				if lines++; lines == n {
					last = at.Sub(o.began)
					o.memory()
				}
			}
		})
		t.Logf("%d workers: last first line %.2f s, whole run %.2f s; launcher: %.0f MB then, %.0f MB at most, %.1f s of CPU; %d API requests, %d of them exec",
			n, last.Seconds(), o.whole.Seconds(), float64(o.then)/megabyte, float64(o.most)/megabyte, o.cpu.Seconds(), len(w.api.Requests()), execs(w.api))
		require.Zero(t, o.code)
		require.Equal(t, n, lines)
		t.Logf("%d workers: %.0f MB for the largest farm of %d, relays among them", n, float64(w.over())/megabyte, farmSize)
	})
}

// TestRestart has one rank fail in the first attempt, when all have begun.
func TestRestart(t *testing.T) {
	sizes(t, func(t *testing.T, n int) {
		w := newWorld(t, n)
		begun := map[string]int{}
		var failed, last time.Time
		script := fmt.Sprintf(`echo "begun $MUSTER_ATTEMPT"; [ "$MUSTER_ATTEMPT.$RANK" = 0.7 ] || exec sleep %d; sleep %d; echo fails; exit 1`, 3*until(n), until(n))
		o := w.run(script, func(o *outcome, line string, at time.Time) {
			for _, attempt := range []string{"0", "1"} {
				if strings.HasSuffix(line, "begun "+attempt) {
					begun[attempt]++
					last = at
				}
			}
			if strings.HasSuffix(line, "fails") {
				require.Equal(t, n, begun["0"], "all have begun before one fails")
				failed = at
			}
			if begun["1"] == n {
				o.memory()
				begun["1"]++ // once
			}
		}, "--max-restarts=1", "--restart-on=+1")
		t.Logf("%d workers: %.2f s from a rank's failure to the last first line of the next attempt; launcher: %.0f MB then, %.0f MB at most, %.1f s of CPU",
			n, last.Sub(failed).Seconds(), float64(o.then)/megabyte, float64(o.most)/megabyte, o.cpu.Seconds())
		require.Zero(t, o.code)
		require.Equal(t, n+1, begun["1"])
		w.over()
	})
}
