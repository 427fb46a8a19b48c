//go:build speed

package network

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/bench/report"
)

const megabyte = 1e6

// TestScale launches one job on n workers, and saves the table "network".
func TestScale(t *testing.T) {
	table := report.Table{
		Name: "network", Title: "One launcher and so many workers, over the pod network", Order: 62, Over: "workers", Command: "make bench-network", Drawn: []int{0, 1, 2},
		Columns: []report.Column{{Name: "last first line", Unit: "s"}, {Name: "launcher's memory at its peak", Unit: "MB"}, {Name: "launcher's CPU", Unit: "s"},
			{Name: "API requests"}, {Name: "execs"}, {Name: "a relay's memory at its peak", Unit: "MB"}, {Name: "a rank's start, alone", Unit: "ms"}},
		Notes: []string{fmt.Sprintf("from the launcher's start until the last rank's first line arrives; workers, launcher and API server share one machine of %d cores, on which the launcher has a nice value of -10", runtime.NumCPU()),
			fmt.Sprintf("each worker is a real session server with its listener; %d of them share a process, except for the relay whose memory is given", farmSize)},
	}
	sizes(t, func(t *testing.T, n int) {
		alone := startAlone(t)
		w := newWorld(t, n)
		lines := 0
		var last time.Duration
		o := w.run(w.hears("echo begun; read x"), func(o *outcome, line string, at time.Time) {
			if strings.HasSuffix(line, "begun") {
				if lines++; lines == n {
					last = at.Sub(o.began)
					o.memory()
					w.say("end")
				}
			}
		})
		t.Logf("%d workers: last first line %.2f s, whole run %.2f s; launcher: %.0f MB then, %.0f MB at most, %.1f s of CPU; %d API requests, %d of them exec",
			n, last.Seconds(), o.whole.Seconds(), float64(o.then)/megabyte, float64(o.most)/megabyte, o.cpu.Seconds(), len(w.api.Requests()), execs(w.api))
		require.Zero(t, o.code)
		require.Equal(t, n, lines)
		relay, farm := w.over()
		t.Logf("%d workers: %.0f MB for a relay, %.0f MB for the largest farm of %d; %.1f ms of CPU for the start of a rank by itself",
			n, float64(relay)/megabyte, float64(farm)/megabyte, farmSize, 1e3*alone.Seconds())
		table.Rows = add(table.Rows, n, last.Seconds(), float64(o.most)/megabyte, o.cpu.Seconds(), float64(len(w.api.Requests())), float64(execs(w.api)), float64(relay)/megabyte, 1e3*alone.Seconds())
	})
	require.NoError(t, report.Save(table))
}

// add adds samples to the row of a size.
func add(rows []report.Row, size int, samples ...float64) []report.Row {
	i := slices.IndexFunc(rows, func(r report.Row) bool { return r.Size == size })
	if i < 0 {
		i, rows = len(rows), append(rows, report.Row{Name: "--transport=network", Size: size, Cells: make([][]float64, len(samples))})
	}
	for c, sample := range samples {
		rows[i].Cells[c] = append(rows[i].Cells[c], sample)
	}
	return rows
}

// startAlone returns the processor time of the start of a rank, until its first line, by itself.
func startAlone(t *testing.T) time.Duration {
	const starts = 100
	before := used(t)
	for range starts {
		out, err := exec.Command("sh", "-c", "exec </dev/null; echo begun; read x || :").Output()
		require.NoError(t, err)
		require.Equal(t, "begun\n", string(out))
	}
	return (used(t) - before) / starts
}

// used returns the processor time of this process and its children that have ended.
func used(t *testing.T) (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		require.NoError(t, syscall.Getrusage(who, &r))
		d += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return d
}

// TestRestart has one rank fail in the first attempt, when all have begun.
func TestRestart(t *testing.T) {
	sizes(t, func(t *testing.T, n int) {
		w := newWorld(t, n)
		begun := map[string]int{}
		var failed, told, first, last time.Time
		script := `echo "begun $MUSTER_ATTEMPT"; while read x; do case $x.$MUSTER_ATTEMPT.$RANK in fail.0.7) echo fails; exit 1;; end.*) exit;; esac; done`
		w.heard = func(line string) {
			if strings.HasPrefix(line, "agent: attempt 2 of 2") {
				told = time.Now()
			}
		}
		o := w.run(w.hears(script), func(o *outcome, line string, at time.Time) {
			if begun["1"] == 0 && strings.HasSuffix(line, "begun 1") {
				first = at
			}
			for _, attempt := range []string{"0", "1"} {
				if strings.HasSuffix(line, "begun "+attempt) {
					begun[attempt]++
					last = at
				}
			}
			switch {
			case strings.HasSuffix(line, "fails"):
				require.Equal(t, n, begun["0"], "all have begun before one fails")
				failed = at
			case begun["0"] == n && strings.HasSuffix(line, "begun 0"):
				w.say("fail")
			case begun["1"] == n && strings.HasSuffix(line, "begun 1"):
				o.memory()
				w.say("end")
			}
		}, "--max-restarts=1", "--restart-on=+1")
		t.Logf("%d workers: %.2f s from a rank's failure to the last first line of the next attempt, of it %.2f s until the attempt, %.2f s until its first line; launcher: %.0f MB then, %.0f MB at most, %.1f s of CPU",
			n, last.Sub(failed).Seconds(), told.Sub(failed).Seconds(), first.Sub(told).Seconds(), float64(o.then)/megabyte, float64(o.most)/megabyte, o.cpu.Seconds())
		require.Zero(t, o.code)
		require.Equal(t, n, begun["1"])
		w.over()
	})
}
