//go:build soak

package soak

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/figure"
)

var stop = flag.Duration("stall", 90*time.Second, "do not read the launcher's stdout for this `TIME` in TestStall")

// stallSize is the number of bytes that the rank writes meanwhile.
const stallSize = 64 << 20

// stalled holds the results of a job whose output was not read for a while.
type stalled struct {
	Seconds float64 `json:"seconds"`
	Exit    int     `json:"exit_code"`
	Equal   bool    `json:"sha256_equal"`
	Redials int     `json:"redials"`
	Killed  int     `json:"connections_killed"` // by a server that waited 60 s for a write
	Written bool    `json:"rank_ended_meanwhile"`
	Said    int     `json:"lines_of_the_worker"` // about spilling, in the worker's log
}

// TestStall checks a rank that writes 64 MiB while the launcher's stdout is not read. The
// output takes the whole path: PID 1, attach, an API server that closes connections
// to which it cannot write for 60 s, TLS, launcher, rsh, pipe.
func TestStall(t *testing.T) {
	for _, c := range []struct {
		name  string
		mount string // type of file system of the worker's directory, for output that waits
		waits bool   // the rank must wait
		loses bool   // the connections are lost at half time, and stderr is not read either
	}{
		{name: "spilled to a file"},
		{name: "spool directory of 1 MiB", mount: "full", waits: true},
		{name: "spool directory read-only", mount: "read-only", waits: true},
		{name: "stderr stopped too, connection lost", loses: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stallOnce(t, stallWorld(t, c.mount), c.loses)
			require.Equal(t, !c.waits, s.Written, "the rank ended while its output was not read")
			said := 0
			if c.waits {
				said = 1
			}
			redials := 0
			if c.loses {
				redials = 1
			}
			name := fmt.Sprintf("stdout stopped for %s, 64 MiB, %s: ", *stop, c.name)
			rows := []figure.Row{
				{Name: name + "exit code (7 sent)", Log: "exit_code", Op: "==", Bar: 7},
				{Name: name + "equal by SHA-256", Log: "sha256_equal", Op: "==", Bar: 1},
				{Name: name + "redials", Log: "redials", Op: "==", Bar: float64(redials)},
				{Name: name + "connections that the server gave up", Log: "connections_killed", Op: "==", Bar: 0},
				{Name: name + "lines that say why the rank waits", Log: "lines_of_the_worker", Op: "==", Bar: float64(said)},
			}
			record(t, "make stall", fmt.Sprintf("stall-%s-%s", *stop, strings.NewReplacer(" ", "-", ",", "").Replace(c.name)), rows, s)
		})
	}
}

// stallWorld returns a world whose worker's directory is on a file system
// that is full at 1 MiB, or read-only after the start.
func stallWorld(t *testing.T, mount string) *world {
	if mount == "" {
		return newWorld(t, time.Minute, nil)
	}
	require.NotEmpty(t, os.Getenv(ownMounts), "mounting needs root")
	w := newWorld(t, time.Minute, func(dir string) []string {
		require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"))
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		return []string{"TMPDIR=" + dir} // the second choice is on the same file system
	})
	if mount == "read-only" {
		require.Eventually(t, func() bool { _, err := os.Stat(w.path("worker/" + names.WorkerSocket)); return err == nil },
			20*time.Second, 10*time.Millisecond)
		require.NoError(t, unix.Mount("", w.path("worker"), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	}
	return w
}

func stallOnce(t *testing.T, w *world, loses bool) stalled {
	data := make([]byte, stallSize)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	_, err := io.ReadFull(noise(seed), data)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.path("data"), data, 0o600))
	want := sha256.Sum256(data)

	cmd := w.launcher(fmt.Sprintf("exec agent rsh %s 'cat data && touch written; exit 7'", workerPod))
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	fill, resume := func() {}, func() {}
	if loses {
		fill, resume = stderrThatStops(t, cmd)
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	// After one byte has arrived, the rank is writing.
	h := sha256.New()
	_, err = io.CopyN(h, stdout, 1)
	require.NoError(t, err)
	began := time.Now()
	fill()
	time.Sleep(*stop / 2)
	if loses {
		dark := time.Now()
		require.Positive(t, w.road.darken())
		require.Eventually(t, func() bool { return !w.front.execAfter(dark).IsZero() }, *stop/2, 10*time.Millisecond,
			"the worker must redial although its stderr is not read")
	}
	time.Sleep(time.Until(began.Add(*stop)))
	var s stalled
	_, err = os.Stat(w.path("written"))
	s.Written = err == nil
	s.Said = strings.Count(w.workerLog(), "cannot spill output to disk")
	s.Seconds = time.Since(began).Seconds()
	resume()
	_, err = io.Copy(h, stdout)
	require.NoError(t, err)
	_ = cmd.Wait()
	s.Exit = cmd.ProcessState.ExitCode()
	s.Equal = bytes.Equal(want[:], h.Sum(nil))
	s.Killed = int(w.road.killed.Load())
	text, err := os.ReadFile(w.path("report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &struct{ Redials *int }{&s.Redials}))
	require.NoError(t, ended(w.worker))
	return s
}

// stderrThatStops replaces cmd's stderr by a pipe that is not read. fill fills the pipe,
// resume copies it to the log.
func stderrThatStops(t *testing.T, cmd *exec.Cmd) (fill, resume func()) {
	log := cmd.Stderr
	r, own, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(); own.Close() })
	// cmd gets another open file description of the same pipe, which may block.
	fd := int(own.Fd()) // only once: each call makes it blocking
	theirs, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_WRONLY, 0)
	require.NoError(t, err)
	cmd.Stderr = theirs
	return func() {
			theirs.Close()
			require.NoError(t, unix.SetNonblock(fd, true))
			for err == nil {
				_, err = unix.Write(fd, []byte(" "))
			}
			require.ErrorIs(t, err, unix.EAGAIN, "the pipe must be full")
		}, func() {
			own.Close()
			go func() { _, _ = io.Copy(log, r) }()
		}
}
