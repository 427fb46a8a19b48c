//go:build linux

package reap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// losses holds the raw figures of one run as PID 1.
type losses struct {
	Forks   int64   `json:"forks"`
	Wide    int     `json:"wide"`
	Lost    int64   `json:"lost"`    // statuses of our processes that were never collected
	Wrong   int64   `json:"wrong"`   // statuses of our processes with a wrong code
	Orphans int64   `json:"orphans"` // collected processes that we did not start
	Zombies int     `json:"zombies"` // not collected at the end
	Seconds float64 `json:"seconds"`
	Seed    uint64  `json:"seed"`
}

// command returns the shell line of fork i, which leaves one orphan, and its exit code.
func command(seed uint64, i int64) (line string, code int) {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	code = rng.IntN(256)
	switch rng.IntN(4) {
	case 0:
		return fmt.Sprintf("(true &); exit %d", code), code
	case 1:
		return fmt.Sprintf("setsid true & exit %d", code), code
	case 2:
		sig := []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL, syscall.SIGUSR1, syscall.SIGPIPE, syscall.SIGTERM}[rng.IntN(5)]
		return fmt.Sprintf("true & kill -%d $$; exit 99", sig), 128 + int(sig)
	}
	return fmt.Sprintf("true & exit %d", code), code
}

// forks runs n commands that each leave an orphan and exit with a known code. $REAP_TEST_SEED is
// the random seed.
func forks(t *testing.T, n int64, wide int) losses {
	seed, err := strconv.ParseUint(os.Getenv("REAP_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	var told atomic.Int64
	r := New()
	r.OnOrphan = func(int, Status) { told.Add(1) }
	run(t, r)
	l := losses{Forks: n, Wide: wide, Seed: seed}
	var next, lost, wrong atomic.Int64
	var workers sync.WaitGroup
	begin := time.Now()
	for range wide {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				line, code := command(seed, i)
				p, err := r.Start(Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", line}, Env: []string{"PATH=/usr/bin:/bin"}})
				if err != nil {
					t.Errorf("start %d: %v", i, err)
					return
				}
				select {
				case <-p.Done():
					if p.Status().Code != code {
						wrong.Add(1)
					}
				case <-time.After(30 * time.Second):
					lost.Add(1)
				}
			}
		})
	}
	workers.Wait()
	l.Seconds = time.Since(begin).Seconds()
	l.Lost, l.Wrong = lost.Load(), wrong.Load()
	var others []Proc // a process that is left is a figure of the run, so this loop ends without a failure
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		procs, err := Scan(markEnv)
		require.NoError(t, err)
		if others = Below(procs, 1); len(others) == 0 {
			break
		}
	}
	for _, p := range others {
		if !p.Alive() {
			l.Zombies++
		}
	}
	l.Orphans = told.Load()
	require.Zero(t, r.Running())
	return l
}

func (l losses) require(t *testing.T) {
	fmt.Printf("figure: %+v\n", l)
	require.Zero(t, l.Lost, "own exit statuses lost")
	require.Zero(t, l.Wrong, "wrong exit codes")
	require.Zero(t, l.Zombies, "zombies left")
	require.Equal(t, l.Forks, l.Orphans, "every command leaves one orphan")
}

// TestNothingIsLost writes its figures to $MUSTER_OUT/raw/reap.json; MUSTER_OUT is an absolute
// path. $REAP_TEST_FORKS sets the number of commands, and $REAP_TEST_RAW the name of the file.
func TestNothingIsLost(t *testing.T) {
	if !inside(t) {
		return
	}
	n, err := strconv.ParseInt(os.Getenv("REAP_TEST_FORKS"), 10, 64)
	if err != nil {
		n = 5_000
	}
	l := forks(t, n, 8)
	if dir := os.Getenv("MUSTER_OUT"); dir != "" {
		raw, err := json.Marshal(l)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "raw"), 0o755))
		name := cmp.Or(os.Getenv("REAP_TEST_RAW"), "reap")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "raw", name+".json"), append(raw, '\n'), 0o644))
	}
	l.require(t)
}

func TestNothingIsLostOnOneProcessor(t *testing.T) {
	if !inside(t, "GOMAXPROCS=1") {
		return
	}
	require.Equal(t, 1, runtime.GOMAXPROCS(0))
	forks(t, 1_000, 8).require(t)
}
