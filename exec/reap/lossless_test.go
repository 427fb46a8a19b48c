//go:build linux

package reap

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// losses are the raw numbers of one run as PID 1.
type losses struct {
	Forks   int64   `json:"forks"`
	Wide    int     `json:"wide"`
	Lost    int64   `json:"lost"`    // own statuses that never came
	Wrong   int64   `json:"wrong"`   // own statuses with another code
	Orphans uint64  `json:"orphans"` // collected processes that were not ours
	Zombies int     `json:"zombies"` // uncollected at the end
	Seconds float64 `json:"seconds"`
}

// forks runs commands that each leave an orphan and exit with a known code.
func forks(t *testing.T, n int64, wide int) losses {
	var told atomic.Int64
	r := New()
	r.OnOrphan = func(int, Status) { told.Add(1) }
	run(t, r)
	l := losses{Forks: n, Wide: wide}
	var next, lost, wrong atomic.Int64
	var workers sync.WaitGroup
	begin := time.Now()
	for range wide {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				code := int(i % 256)
				p, err := r.Start(Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", "true & exit " + strconv.Itoa(code)}})
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
	var others []Proc
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
	l.Orphans = r.Orphans()
	require.EqualValues(t, l.Orphans, told.Load(), "OnOrphan calls")
	require.Zero(t, r.Running())
	return l
}

func (l losses) require(t *testing.T) {
	fmt.Printf("figure: %+v\n", l)
	require.Zero(t, l.Lost, "own exit statuses lost")
	require.Zero(t, l.Wrong, "wrong exit codes")
	require.Zero(t, l.Zombies, "zombies left")
	require.EqualValues(t, l.Forks, l.Orphans, "every command leaves one orphan")
}

// TestNothingIsLost writes $MUSTER_OUT/raw/reap.json; MUSTER_OUT is absolute.
func TestNothingIsLost(t *testing.T) {
	if !inside(t) {
		return
	}
	l := forks(t, 20_000, 8)
	if dir := os.Getenv("MUSTER_OUT"); dir != "" {
		raw, err := json.Marshal(l)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "raw"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "raw", "reap.json"), append(raw, '\n'), 0o644))
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
