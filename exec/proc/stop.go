//go:build linux

package proc

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/reap"
)

// KillMargin is how long after its grace a stop waits for killed processes to end. A process in
// uninterruptible sleep may take longer.
const KillMargin = 10 * time.Second

// All returns the processes of all trees, each once.
func All(trees []*reap.Tree) ([]reap.Proc, error) {
	each, err := Each(trees)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	var all []reap.Proc
	for _, p := range slices.Concat(each...) {
		if !seen[p.PID] {
			seen[p.PID] = true
			all = append(all, p)
		}
	}
	return all, nil
}

// Each returns the processes of each tree. Trees of one Table share a scan.
func Each(trees []*reap.Tree) ([][]reap.Proc, error) {
	found, errs := make([][]reap.Proc, len(trees)), make([]error, len(trees))
	var finds sync.WaitGroup
	for i, tree := range trees {
		finds.Go(func() { found[i], errs[i] = tree.Find() })
	}
	finds.Wait()
	return found, errors.Join(errs...)
}

// Below returns a function that finds all descendants of this process, of any session or none. A
// user's own shell has another parent and is left out.
func Below(r *reap.Reaper) func() ([]reap.Proc, error) {
	table := r.Table(names.EnvSession)
	return func() ([]reap.Proc, error) {
		procs, err := table.Scan()
		return reap.Below(procs, os.Getpid()), err
	}
}

// KillBelow kills all descendants of this process. It returns when they have ended, or after
// KillMargin.
func KillBelow(r *reap.Reaper) (reap.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), KillMargin)
	defer cancel()
	return r.Stop(ctx, Below(r), 0)
}

// RestGrace returns the grace of processes outside all sessions, in a stop with that grace that
// began at that time. It is the rest of the grace, at least a second, and never more than grace.
func RestGrace(grace time.Duration, began time.Time) time.Duration {
	return min(grace, max(grace-time.Since(began), time.Second))
}

// Stopping says how many of the processes that find returns are ranks to which a stop sends sig:
// "stopping 4 ranks, up to 25 s for saving". It returns "" if there are none, or if they cannot be
// found.
func Stopping(find func() ([]reap.Proc, error), sig syscall.Signal, grace time.Duration) string {
	procs, err := find()
	if err != nil {
		return "" // the stop itself reports it
	}
	n := len(reap.Apart(reap.Ranks(procs, sig)))
	if n == 0 {
		return ""
	}
	return reap.Stopping(reap.Count(n, "rank"), grace)
}
