//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/bench/pods"
)

// agents are Muster's processes on this machine, by the pod that they are in.
type agents map[string][]int

// findAgents looks for them; pods are known by the uid in the names of their cgroups.
func findAgents(ctx context.Context, s pods.Space) (agents, error) {
	text, err := s.Kubectl(ctx, nil, "get", "pods", "-l", "muster.dev/job=with", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("read pods: %w", err)
	}
	found := agents{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		name, nerr := os.ReadFile(dir + "/comm")
		groups, gerr := os.ReadFile(dir + "/cgroup")
		if nerr != nil || gerr != nil || !strings.HasPrefix(string(name), "agent") {
			continue // ended meanwhile, or not ours
		}
		for _, pod := range list.Items {
			uid := string(pod.UID)
			if strings.Contains(string(groups), uid) || strings.Contains(string(groups), strings.ReplaceAll(uid, "-", "_")) {
				pid, err := strconv.Atoi(filepath.Base(dir))
				if err != nil {
					return nil, err
				}
				found[pod.Name] = append(found[pod.Name], pid)
			}
		}
	}
	if len(found) != len(list.Items) {
		return nil, fmt.Errorf("find agents: in %d of %d pods", len(found), len(list.Items))
	}
	return found, nil
}

// signal stops them or lets them go on. One that has ended meanwhile is an attach.
func (a agents) signal(sig unix.Signal) {
	for _, pids := range a {
		for _, pid := range pids {
			_ = unix.Kill(pid, sig)
		}
	}
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

// watchAgents gives, for each worker, the CPU time of its agents over the time that
// passed, in percent of a core.
func watchAgents(ctx context.Context, s pods.Space, a *arm, d time.Duration) (percent []float64, err error) {
	found, err := findAgents(ctx, s)
	if err != nil {
		return nil, err
	}
	first, last := map[int]float64{}, map[int]float64{}
	look := func(into map[int]float64) {
		for _, pids := range found {
			for _, pid := range pids {
				if seconds, there := spent(pid); there {
					into[pid] = seconds
				}
			}
		}
	}
	began := time.Now()
	look(first)
	look(last)
	for time.Since(began) < d { // again and again: an attach ends when its link is given up
		select {
		case <-time.After(min(5*time.Second, d-time.Since(began))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		look(last)
	}
	passed := time.Since(began).Seconds()
	for i := range a.job.Workers {
		sum := 0.0
		for _, pid := range found[a.job.WorkerName(i)] {
			sum += last[pid] - first[pid]
		}
		percent = append(percent, 100*sum/passed)
	}
	return percent, nil
}
