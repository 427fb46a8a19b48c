//go:build speed

package network

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readyLine is a line of the launcher's about its progress.
var readyLine = regexp.MustCompile(`(\d+)/\d+ ready`)

// TestKilledWorkers kills the processes of at least 1 % of the workers, a relay among them, while
// workers are launched and again when all ranks have begun. New containers of the same pods take their
// places at once. With a restart the job must end well, with one line of each rank in each attempt.
// Without one it must not.
func TestKilledWorkers(t *testing.T) {
	sizes(t, func(t *testing.T, n int) {
		t.Run("restarts", func(t *testing.T) {
			o, lines, share, healed := killed(t, n, "--max-restarts=1")
			require.Zero(t, o.code)
			require.Equal(t, map[string]int{"0": n, "1": n}, lines)
			t.Logf("%d workers: %.2f s from the death of %.1f %% of them to the last first line of the next attempt", n, healed.Seconds(), 100*share)
		})
		t.Run("does not restart", func(t *testing.T) {
			o, lines, _, _ := killed(t, n)
			require.NotZero(t, o.code, "a job that lost workers has not succeeded")
			require.Equal(t, map[string]int{"0": n}, lines)
		})
	})
}

// killed runs a job, and kills workers twice. It returns how many lines came in each attempt, at most
// one of each rank. share is the share of the workers that it kills, and healed is the time from their
// second death to the last line.
func killed(t *testing.T, n int, flags ...string) (o *outcome, lines map[string]int, share float64, healed time.Duration) {
	w := newWorld(t, n)
	victims := w.farms[:2+n/100/farmSize] // the relay, and enough others
	launching := true
	w.heard = func(line string) {
		if found := readyLine.FindStringSubmatch(line); launching && found != nil && found[1] != strconv.Itoa(n) {
			launching = false
			w.kill(victims)
		}
	}
	lines, seen := map[string]int{}, map[string]bool{}
	var died time.Time
	o = w.run(w.hears(`echo "begun $MUSTER_ATTEMPT $RANK"; while read x; do [ $x = end ] && exit; done`), func(_ *outcome, line string, at time.Time) {
		_, words, ok := strings.Cut(line, "begun ")
		require.True(t, ok, line)
		require.False(t, seen[words], "a line that came before: %s", line)
		seen[words] = true
		attempt, _, _ := strings.Cut(words, " ")
		switch lines[attempt]++; {
		case attempt == "0" && lines[attempt] == n:
			died = at
			w.kill(victims)
		case attempt == "1" && lines[attempt] == n:
			healed = at.Sub(died)
			w.say("end")
		}
	}, flags...)
	require.False(t, launching, "no worker was killed while workers were launched")
	for _, f := range victims {
		share += float64(f.count) / float64(n)
	}
	return o, lines, share, healed
}
