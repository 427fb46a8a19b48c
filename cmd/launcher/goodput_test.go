//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/goodput"
)

// trainer is a program that writes down when it works, stalls, saves and ends. Its truth is its own
// clock: it knows nothing of the record.
const trainer = `
note() { echo "$1.$MUSTER_ATTEMPT.$RANK $(date +%s.%N)" >>truth; }
steps() { for i in $(seq $1); do sleep 0.1; n=$((n + 1)); echo step $n; done; }
n=0
note start
if [ $MUSTER_ATTEMPT = 1 ]; then steps 20; note end; exit 0; fi
steps 15
note stall
sleep 5
note moves
steps 10
if [ $RANK = 0 ]; then touch ckpt; note saved; fi
steps 30
if [ $RANK = 1 ]; then # until rank 0 has failed
  trap 'note end; exit 1' TERM
  sleep 30 & wait
fi
note end
exit 3
`

// saver saves for two seconds when it is asked to stop.
const saver = `
note() { echo "$1.$RANK $(date +%s.%N)" >>truth; }
trap 'note asked; sleep 2; touch ckpt; note saved; exit 0' TERM
note start
while :; do sleep 0.1; done
`

// accounts are what a run says about its time.
type accounts struct {
	report struct {
		Goodput struct {
			Ratio   float64
			Seconds map[goodput.Class]float64
		}
	}
	message goodput.Account // of the termination message
	truth   map[string]float64
	out     string
}

// account runs a program as two ranks on two fake workers, and returns what the run says, and what the
// program has written down.
func account(t *testing.T, program string, code int, after func(launcher *os.Process, dir string), flags ...string) accounts {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("message"), nil, 0o600))
	args := append([]string{"run", "--fake=2", "--framework=plain", "--progress-file=ckpt", "--report=" + path("report"), "--events=" + path("events")}, flags...)
	launch := osexec.Command(filepath.Join(bin, "agent"), append(args, "--", "sh", "-c", program)...)
	launch.Dir = dir
	launch.Env = append(os.Environ(), "MUSTER_DIR="+path("r"), "MUSTER_TERMINATION_LOG="+path("message"))
	var out strings.Builder
	launch.Stdout, launch.Stderr = &out, &out
	require.NoError(t, launch.Start())
	if after != nil {
		after(launch.Process, dir)
	}
	_ = launch.Wait() // the code is compared
	a := accounts{truth: map[string]float64{}, out: out.String()}
	require.Equal(t, code, launch.ProcessState.ExitCode(), a.out)

	text, err := os.ReadFile(path("report"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &a.report))
	text, err = os.ReadFile(path("message"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if said, ok := goodput.Parse(strings.TrimSuffix(line, "\n")); ok {
			a.message = said
		}
	}
	f, err := os.Open(path("truth"))
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, number, _ := strings.Cut(lines.Text(), " ")
		a.truth[name], err = strconv.ParseFloat(number, 64)
		require.NoError(t, err)
	}

	text, err = osexec.Command(filepath.Join(bin, "agent"), "timeline", path("events"), "-o", "json").Output()
	require.NoError(t, err)
	var line struct {
		Seconds float64
		Goodput struct{ Seconds map[goodput.Class]float64 }
	}
	require.NoError(t, json.Unmarshal(text, &line))
	total := 0.0
	for c, seconds := range a.report.Goodput.Seconds {
		total += seconds
		require.InDelta(t, seconds, line.Goodput.Seconds[c], 0.1, "%s in the timeline", c)
		require.InDelta(t, seconds, a.message[c], 0.051, "%s in the termination message", c)
	}
	require.InDelta(t, 2*line.Seconds, total, 0.1, "the classes add up to the wall time of two workers")
	return a
}

// TestGoodputAgainstTheTruth runs a program with a known stall, a known restart and known lost work. The
// truth is what the program has written down. Each class is within 1 s of it, for both workers together.
func TestGoodputAgainstTheTruth(t *testing.T) {
	t.Parallel()
	a := account(t, trainer, 0, nil, "--max-restarts=1", "--restart-on=3", `--expect=step (\d+)`, "--within=3s", "--first-within=20s")
	truth := map[goodput.Class]float64{}
	for _, rank := range []string{".0", ".1"} {
		took := func(from, to string) float64 { return a.truth[to+rank] - a.truth[from+rank] }
		truth[goodput.Productive] += took("start.0", "stall.0") + a.truth["saved.0.0"] - a.truth["moves.0"+rank] + took("start.1", "end.1")
		truth[goodput.Stalled] += took("stall.0", "moves.0")
		truth[goodput.Lost] += a.truth["end.0"+rank] - a.truth["saved.0.0"]
		truth[goodput.Restarting] += took("end.0", "start.1")
	}
	for c, seconds := range truth {
		t.Logf("%s: truth %.2f s, said %.2f s", c, seconds, a.report.Goodput.Seconds[c])
		require.InDelta(t, seconds, a.report.Goodput.Seconds[c], 1, "%s\n%s", c, a.out)
	}
	require.Less(t, a.report.Goodput.Seconds[goodput.Unknown], 0.5, "before the workers were created")
	require.NotContains(t, a.out, "goodput", "the run was short")
}

// TestSavingIsCounted stops a program that saves for two seconds. All of its work was kept. Each class
// takes at least as long as the ranks have written down, and at most as long as it took from outside.
func TestSavingIsCounted(t *testing.T) {
	t.Parallel()
	seconds := func() float64 { return float64(time.Now().UnixNano()) / 1e9 }
	created, signaled := seconds(), 0.0
	a := account(t, saver, 143, func(launcher *os.Process, dir string) {
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(filepath.Join(dir, "truth"))
			return err == nil && strings.Count(string(text), "start.") == 2
		}, 30*time.Second, 20*time.Millisecond)
		time.Sleep(2 * time.Second)
		signaled = seconds()
		require.NoError(t, launcher.Signal(syscall.SIGTERM))
	}, "--grace=20s", "--max-restarts=1")
	ended := seconds()
	between := func(c goodput.Class, from, to string, most float64) {
		said, least := a.report.Goodput.Seconds[c], 0.0
		for _, rank := range []string{".0", ".1"} {
			least += a.truth[to+rank] - a.truth[from+rank]
		}
		t.Logf("%s: said %.2f s, of %.2f to %.2f s", c, said, least, most)
		require.GreaterOrEqual(t, said, least-1, "%s\n%s", c, a.out)
		require.LessOrEqual(t, said, most+1, "%s\n%s", c, a.out)
	}
	between(goodput.Saving, "asked", "saved", 2*(ended-signaled))
	between(goodput.Productive, "start", "asked", 2*(signaled-created))
	require.Zero(t, a.report.Goodput.Seconds[goodput.Lost])
}
