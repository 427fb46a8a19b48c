//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/proc"
)

// agents are Muster's processes on this machine, by the pod that they are in.
type agents map[string][]int

// findAgents looks for them by their names, and for their pods by the host name that the
// kubelet puts into a container's environment.
func findAgents(a *arm) (agents, error) {
	names := []string{a.job.LauncherName()}
	for i := range a.job.Workers {
		names = append(names, a.job.WorkerName(i))
	}
	found := agents{}
	for _, p := range proc.Find(func(env []string) bool {
		return slices.ContainsFunc(names, func(pod string) bool { return slices.Contains(env, "HOSTNAME="+pod) })
	}) {
		if strings.HasPrefix(p.Comm, "agent") {
			found[p.Getenv("HOSTNAME")] = append(found[p.Getenv("HOSTNAME")], p.PID)
		}
	}
	if len(found) != len(names) {
		return nil, fmt.Errorf("find agents: in %d of %d pods", len(found), len(names))
	}
	return found, nil
}

// spent is the CPU time of a process by the scheduler's count, in seconds; false when it
// is gone.
func spent(pid int) (seconds float64, there bool) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, false
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that ends; Go's stay
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseFloat(ran, 64)
		if err != nil {
			return 0, false
		}
		seconds += ns / 1e9
	}
	return seconds, true
}

// watch counts the CPU time of a job's agents.
type watch struct {
	arm         *arm
	found       agents
	first, last map[int]float64 // by PID; again and again: an attach ends when its link is given up
	began       time.Time
}

// watchAgents begins to count.
func watchAgents(a *arm) (*watch, error) {
	found, err := findAgents(a)
	if err != nil {
		return nil, err
	}
	w := &watch{arm: a, found: found, first: map[int]float64{}, last: map[int]float64{}, began: time.Now()}
	w.into(w.first)
	w.look()
	return w, nil
}

func (w *watch) look() { w.into(w.last) }

func (w *watch) into(seen map[int]float64) {
	for _, pids := range w.found {
		for _, pid := range pids {
			if seconds, there := spent(pid); there {
				seen[pid] = seconds
			}
		}
	}
}

// percent is, for each worker, the CPU time of its agents over the time that passed, in
// percent of a core.
func (w *watch) percent() (percent []float64) {
	passed := time.Since(w.began).Seconds()
	for i := range w.arm.job.Workers {
		sum := 0.0
		for _, pid := range w.found[w.arm.job.WorkerName(i)] {
			sum += w.last[pid] - w.first[pid]
		}
		percent = append(percent, 100*sum/passed)
	}
	return percent
}
