//go:build linux

package reap

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDrainHoldsDaemons checks that daemons, and ranks that the signal would kill, are not signaled
// before the hold is released or the last fifth of the grace begins.
func TestDrainHoldsDaemons(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	dir := t.TempDir()
	orted, script := filepath.Join(dir, "orted"), filepath.Join(dir, "rank")
	require.NoError(t, os.Symlink("/bin/bash", orted))
	line := "exec " + orted + ` -c 'exec 3<&0; trap "echo daemon asked; kill -9 \$rank; exit 0" TERM
RANK=3 bash ` + script + ` & rank=$!
wait; read y <&3'`
	const saves = `trap "echo rank asked; sleep 0.3; echo rank ends; exit 0" TERM; echo ready; while :; do read -t 0.1 x <&3; done`
	for _, c := range []struct {
		name, rank string
		grace      time.Duration
		over       bool          // whether the hold ends when the ranks have ended
		least      time.Duration // minimum duration
		asked      int           // number of ranks
		living     int
		says       []string
	}{
		{"released", saves, time.Minute, true, 300 * time.Millisecond, 1, 0, []string{"rank asked\n", "rank ends\n", "daemon asked\n"}},
		{"not released", saves, 4 * time.Second, false, 3200 * time.Millisecond, 1, 0, []string{"rank asked\n", "rank ends\n", "daemon asked\n"}},
		{"a rank without a handler", `echo ready; exec sleep 1000`, 4 * time.Second, false, 3200 * time.Millisecond, 0, 1, []string{"daemon asked\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(script, []byte(c.rank), 0o600))
			p, out := sh(t, r, "s1", line, true)
			begin := time.Now()
			until := make(chan struct{})
			asked, saved, living := -1, -1, -1
			got, err := r.DrainHolding(t.Context(), finder("s1"), syscall.SIGTERM, c.grace, nil, Hold{
				Until: until,
				Asked: func(ranks []Proc) { asked = len(ranks) },
				Saved: func(outcomes []Outcome, left int) {
					saved, living = len(outcomes), left
					if c.over {
						close(until)
					}
				},
			})
			require.NoError(t, err)
			require.WithinRange(t, time.Now(), begin.Add(c.least), begin.Add(c.least+10*time.Second))
			for _, line := range c.says {
				require.Equal(t, line, readLine(t, out))
			}
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.asked, saved)
			require.GreaterOrEqual(t, living, c.living)
			require.Len(t, got.Ranks, c.asked)
			<-p.Done()
			empty(t, 1)
		})
	}
}

// TestDrainKillsStuckLaunchers checks that a launcher that does not end after all other processes
// is killed soon, not at the end of the grace.
func TestDrainKillsStuckLaunchers(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	orted := anOrted(t)
	trapped := filepath.Join(t.TempDir(), "trapped") // TERM may come as soon as "ready" is printed
	rank := `RANK=3 bash -c "trap \"echo rank ends; exit 0\" TERM; : >` + trapped + `; while :; do read -t 0.1 x <&3; done" & `
	for name, c := range map[string]struct {
		line, says string
	}{
		"after its rank has ended": {`exec 3<&0; ` + rank + `trap "" TERM; until test -e ` + trapped + `; do :; done; echo ready; wait; while :; do read y <&3; done`, "rank ends\n"},
		"without a rank":           {`trap "" TERM; echo ready; while :; do read y; done`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, out := sh(t, r, "s1", "exec "+orted+" -c '"+c.line+"'", true)
			begin := time.Now()
			got, err := r.Drain(t.Context(), finder("s1"), syscall.SIGTERM, time.Minute)
			require.NoError(t, err)
			require.WithinRange(t, time.Now(), begin.Add(launcherTime), begin.Add(launcherTime+10*time.Second))
			if c.says != "" {
				require.Equal(t, c.says, readLine(t, out))
			}
			require.Equal(t, 1, got.Killed)
			<-p.Done()
			empty(t, 1)
		})
	}
}

// TestDrainWaitsForBusyLaunchers checks that a launcher may end by itself while it works, or waits
// for a processor.
func TestDrainWaitsForBusyLaunchers(t *testing.T) {
	if !inside(t) {
		return
	}
	r := running(t)
	orted := anOrted(t)
	end := launcherTime + 2*time.Second
	line := fmt.Sprintf(`trap "" TERM; echo ready; read y; while test $SECONDS -lt %d; do :; done; echo ends`, end/time.Second)
	p, out := sh(t, r, "s1", "exec "+orted+" -c '"+line+"' </dev/null", true)
	got, err := r.Drain(t.Context(), finder("s1"), syscall.SIGTERM, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "ends\n", readLine(t, out))
	require.Zero(t, got.Killed)
	<-p.Done()
	empty(t, 1)
}

// anOrted returns the path of a bash with the name of an MPI daemon.
func anOrted(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "orted")
	require.NoError(t, os.Symlink("/bin/bash", path))
	return path
}
