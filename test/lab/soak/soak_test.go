//go:build soak

package soak

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/proc"
)

var (
	spell  = flag.Duration("spell", 10*time.Minute, "leave the session of TestSoak idle for this `TIME` per spell")
	spells = flag.Int("spells", 6, "run `N` spells")
)

// burst is the number of bytes sent through the session between two spells, in each direction.
const burst = 4 << 20

// soaked holds the results of the session.
type soaked struct {
	Seed       uint64        `json:"seed"`
	Minutes    float64       `json:"minutes"`
	Exit       int           `json:"exit_code"`
	Stdout     bool          `json:"stdout_equal"`
	Stderr     bool          `json:"stderr_equal"`
	Bytes      int64         `json:"bytes"` // in each direction
	Launches   int           `json:"launches"`
	Idle       figure.Series `json:"idle_bytes"` // received in a spell
	Lost       figure.Series `json:"connections_lost"`
	Redial     figure.Series `json:"redial"`         // from the loss to the next exec request
	Refused    int           `json:"tokens_refused"` // requests with an old token
	OldTokens  figure.Series `json:"old_token_status"`
	LauncherFD figure.Series `json:"launcher_descriptors"`
	WorkerFD   figure.Series `json:"worker_descriptors"`
	LauncherKB figure.Series `json:"launcher_pss"`
	WorkerKB   figure.Series `json:"worker_pss"`
}

// TestSoak runs one session that echoes its input on stdout and stderr, with
// all of its traffic idle during each spell. In each spell the token changes,
// and then every connection of the launcher vanishes. (The link's
// own pings continue, because they detect such losses.)
func TestSoak(t *testing.T) {
	w := newWorld(t, time.Minute, nil)
	s := &soaked{Seed: rand.Uint64(), Redial: figure.Series{Unit: "s", Reduce: "max"},
		Idle: figure.Series{Unit: "bytes", Reduce: "sum"}, Lost: figure.Series{Reduce: "min"}, OldTokens: figure.Series{Reduce: "min"},
		LauncherFD: figure.Series{Reduce: "last"}, WorkerFD: figure.Series{Reduce: "last"},
		LauncherKB: figure.Series{Unit: "KiB", Reduce: "last"}, WorkerKB: figure.Series{Unit: "KiB", Reduce: "last"}}
	t.Logf("seed %d, %d spells of %s", s.Seed, *spells, *spell)
	cmd := w.launcher(fmt.Sprintf("exec agent rsh %s 'echo started >>starts; tee /dev/stderr; exit 0' 2>%s", workerPod, w.path("stderr")))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	e := &echo{in: stdin, noise: noise(s.Seed), sent: sha256.New(), got: sha256.New()}
	e.cond.L = &e.mu
	read := make(chan struct{})
	go func() { defer close(read); e.read(stdout) }()
	for i := range *spells {
		e.burst(t)
		s.spell(t, w, e, i)
		s.sample(t, cmd.Process.Pid, w.worker.Process.Pid)
	}
	e.burst(t)
	require.NoError(t, stdin.Close())
	<-read // before Wait, which closes the pipe
	err = cmd.Wait()
	s.Minutes = time.Since(began).Minutes()
	s.Exit = cmd.ProcessState.ExitCode()
	s.finish(t, w, e)
	require.NoError(t, err)
	require.NoError(t, ended(w.worker), "the worker must end after the job")
}

// spell leaves the session idle. Meanwhile, the token changes and the connections
// vanish.
func (s *soaked) spell(t *testing.T, w *world, e *echo, i int) {
	start, before := time.Now(), e.count()
	time.Sleep(*spell * 3 / 10)
	old := w.rotate()
	s.OldTokens.Samples = append(s.OldTokens.Samples, float64(w.front.status(t, old)))
	time.Sleep(time.Until(start.Add(*spell / 2)))
	dark := time.Now()
	lost := w.road.darken()
	s.Lost.Samples = append(s.Lost.Samples, float64(lost))
	time.Sleep(time.Until(start.Add(*spell)))
	s.Idle.Samples = append(s.Idle.Samples, float64(e.count()-before))
	var redialed time.Time
	require.Eventually(t, func() bool { redialed = w.front.execAfter(dark); return !redialed.IsZero() },
		time.Minute, 10*time.Millisecond, "no redial after spell %d", i)
	s.Redial.Samples = append(s.Redial.Samples, redialed.Sub(dark).Seconds())
	t.Logf("%s spell %d: %d connections lost, redialed after %s", time.Now().Format(time.TimeOnly), i, lost, redialed.Sub(dark).Round(time.Millisecond))
}

func (s *soaked) sample(t *testing.T, launcher, worker int) {
	for _, p := range []struct {
		pid     int
		fds, kb *figure.Series
	}{{launcher, &s.LauncherFD, &s.LauncherKB}, {worker, &s.WorkerFD, &s.WorkerKB}} {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
		require.NoError(t, err)
		p.fds.Samples = append(p.fds.Samples, float64(len(fds)))
		bytes, err := proc.PSS(p.pid)
		require.NoError(t, err)
		p.kb.Samples = append(p.kb.Samples, bytes/1024)
	}
}

// finish compares the data, and records the figures.
func (s *soaked) finish(t *testing.T, w *world, e *echo) {
	s.Bytes, s.Refused = e.total, w.front.refusals()-len(s.OldTokens.Samples)
	want := fmt.Sprintf("%x", e.sent.Sum(nil))
	s.Stdout = want == fmt.Sprintf("%x", e.got.Sum(nil))
	h := sha256.New()
	f, err := os.Open(w.path("stderr"))
	require.NoError(t, err)
	defer f.Close()
	_, err = io.Copy(h, f)
	require.NoError(t, err)
	s.Stderr = want == fmt.Sprintf("%x", h.Sum(nil))
	starts, err := os.ReadFile(w.path("starts"))
	require.NoError(t, err)
	s.Launches = strings.Count(string(starts), "\n")
	name := fmt.Sprintf("one session, idle %d times for %s, lost silently each time", *spells, *spell)
	rows := []figure.Row{
		{Name: name + ": exit code", Log: "exit_code", Op: "==", Bar: 0},
		{Name: name + ": stdout equal by SHA-256", Log: "stdout_equal", Op: "==", Bar: 1},
		{Name: name + ": stderr equal by SHA-256", Log: "stderr_equal", Op: "==", Bar: 1},
		{Name: name + ": launches", Log: "launches", Op: "==", Bar: 1},
		{Name: name + ": minutes", Log: "minutes", Op: ">=", Bar: (time.Duration(*spells) * *spell).Minutes()},
		{Name: name + ": connections lost in a spell, least", Log: "connections_lost", Op: ">=", Bar: 1},
		{Name: name + ": bytes of the session in the spells", Log: "idle_bytes", Op: "==", Bar: 0},
		{Name: name + ": from loss to redial, longest", Log: "redial", Op: "<=", Bar: 15},
		{Name: name + ": answer to an old token", Log: "old_token_status", Op: "==", Bar: http.StatusUnauthorized},
	}
	record(t, "make soak", fmt.Sprintf("soak-%d-%s", *spells, *spell), rows, s)
}

// ended waits for a worker that was told to end.
func ended(worker *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- worker.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		return fmt.Errorf("the worker is still running")
	}
}

// echo sends data to a session that sends everything back.
type echo struct {
	in    io.Writer
	noise io.Reader
	sent  hash.Hash
	total int64

	mu   sync.Mutex
	cond sync.Cond
	got  hash.Hash
	n    int64
	over bool
}

func noise(seed uint64) io.Reader {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return rand.NewChaCha8(key)
}

// burst sends some bytes and waits until all of them have come back.
func (e *echo) burst(t *testing.T) {
	_, err := io.CopyN(io.MultiWriter(e.in, e.sent), e.noise, burst)
	require.NoError(t, err)
	e.total += burst
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.n < e.total && !e.over {
		e.cond.Wait()
	}
	require.Equal(t, e.total, e.n, "bytes that came back")
}

func (e *echo) read(r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		e.mu.Lock()
		e.got.Write(buf[:n])
		e.n += int64(n)
		e.over = err != nil
		e.cond.Broadcast()
		e.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (e *echo) count() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}
