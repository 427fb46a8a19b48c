//go:build speed

package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCutWorkers closes all connections of 1 % of the workers while workers are launched, and those of
// another 1 % while ranks print numbered lines. A worker that is a relay loses those of all workers
// behind it. Ranks print a line at each tick, without starting a process: many workers share the
// process that would look for it.
func TestCutWorkers(t *testing.T) {
	const count, tick = 20, time.Second
	sizes(t, func(t *testing.T, n int) {
		w := newWorld(t, n)
		cut := func(first int) time.Time { // one worker of each hundred
			for i := first; i < n; i += 100 {
				_, err := fmt.Fprintf(w.farmOf(i).stdin, "cut %d\n", i)
				require.NoError(t, err)
			}
			return time.Now()
		}
		var ticking sync.WaitGroup
		next, seen, longest := make([]int, n), make([]time.Time, n), make([]time.Duration, n)
		begun, halves := 0, 0
		var cutAt time.Time
		script := fmt.Sprintf(`echo "line $RANK 0"; i=1; while [ $i -lt %d ] && read x; do echo "line $RANK $i"; i=$((i+1)); done`, count)
		o := w.run(w.hears(script), func(_ *outcome, line string, at time.Time) {
			words := strings.Fields(line)
			i := slices.Index(words, "line")
			require.GreaterOrEqual(t, i, 0, line)
			rank, err := strconv.Atoi(words[i+1])
			require.NoError(t, err)
			require.Equal(t, strconv.Itoa(next[rank]), words[i+2], "rank %d: the next line", rank)
			next[rank]++
			switch next[rank] {
			case 1:
				if begun++; begun == n/2 {
					cut(1)
				}
				if begun == n {
					ticking.Go(func() {
						for range count - 1 {
							time.Sleep(tick)
							w.say("tick")
						}
					})
				}
			case count / 2:
				if halves++; halves == n/2 {
					cutAt = cut(0)
				}
			}
			if !cutAt.IsZero() {
				longest[rank] = max(longest[rank], at.Sub(seen[rank]))
			}
			seen[rank] = at
		})
		ticking.Wait()
		require.Zero(t, o.code)
		for rank, lines := range next {
			require.Equal(t, count, lines, "lines of rank %d", rank)
		}
		slices.Sort(longest)
		t.Logf("%d workers, %d lines: none lost, none doubled; longest pause of a rank's lines after the cut %.2f s, 99th percentile %.2f s, median %.2f s, of %.0f s by itself",
			n, n*count, longest[n-1].Seconds(), longest[n*99/100].Seconds(), longest[n/2].Seconds(), tick.Seconds())
		w.over()
	})
}
