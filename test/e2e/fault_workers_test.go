//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestBreakWorkers: workers that are lost, under jobs that do not survive it.
func TestBreakWorkers(t *testing.T) {
	f := newFaults(t)
	const soon = 30 * time.Second
	for _, row := range []fault{
		{event: "a worker's container restarted", limit: soon, victim: victimRestarts, strike: kill(victimRestarts)},
		{event: "PID 1 of a worker killed from the node", limit: soon, victim: victimDies, strike: kill(victimDies)},
		{event: "a worker's pod deleted", limit: soon, victim: victimDeleted, strike: deleteOne},
		{event: "a rank killed for its memory", limit: soon, victim: victimEats, strike: eat},
		{event: "a node drained", limit: soon, victim: -1, strike: drain, after: checkpoints},
		{event: "a node lost (powered off)", limit: 90 * time.Second, victim: -1, strike: powerOff, after: oneOfTheNode},
	} {
		t.Run(row.event, func(t *testing.T) { row.run(t, f) })
	}
}

// kill ends PID 1 of a worker of each job from the node. On cgroup v2 the kernel
// does so where a container has too much memory.
func kill(victim int) func(h *hit) {
	return func(h *hit) {
		killFirst(h.t, h.f.workerPods(h.space, victim)...)
	}
}

func deleteOne(h *hit) {
	for _, w := range h.works {
		h.kubectl("delete", "pod", w.j.workerName(victimDeleted), "--wait=false")
	}
}

// eat lets the rank of a worker take more memory than its container may have.
func eat(h *hit) {
	for _, w := range h.works {
		h.kubectl("exec", w.j.workerName(victimEats), "--", "touch", "/tmp/eat")
	}
}

// drain takes the jobs' pods off a node as people do.
func drain(h *hit) {
	for _, left := range clearCheckpoints(h) {
		require.NoError(h.t, os.Remove(left))
	}
	h.t.Cleanup(func() { h.kubectl("uncordon", faultNode) })
	_, err := h.try(50*time.Second, "drain", faultNode, "--force", "--ignore-daemonsets", "--delete-emptydir-data",
		"--pod-selector="+faultLabel+"=yes", "--timeout=45s")
	require.NoError(h.t, err)
}

func clearCheckpoints(h *hit) []string {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.f.ckpt, "*-worker-*"))
	require.NoError(h.t, err)
	return files
}

// checkpoints: every rank and session of the drained node wrote its checkpoint.
func checkpoints(h *hit, table *faultTable) []figure.Row {
	written := map[string]bool{}
	for _, file := range clearCheckpoints(h) {
		written[filepath.Base(file)] = true
	}
	missing := 0
	for _, w := range h.works {
		for i := 1; i < w.j.workers; i += 2 {
			if !written[w.j.workerName(i)] {
				missing++
				h.t.Logf("%s wrote no checkpoint", w.j.workerName(i))
			}
		}
	}
	table.Extra = missing
	oneOfTheNode(h, table)
	return []figure.Row{{Name: "checkpoints missing", Op: "==", Bar: 0, Log: "extra"}}
}

// powerOff: a node without power sends no FIN and no RST.
func powerOff(h *hit) {
	h.t.Cleanup(func() {
		if out, err := clusterVerb("node", "on", faultNode); err != nil {
			h.t.Errorf("%v\n%s", err, out)
		}
	})
	cluster(h.t, "node", "off", faultNode)
}

// oneOfTheNode: every launcher named a worker of that node.
func oneOfTheNode(h *hit, table *faultTable) []figure.Row {
	for i, w := range h.works {
		named := false
		for _, word := range strings.Fields(table.Cases[i].Sees) {
			for n := 1; n < w.j.workers; n += 2 {
				named = named || strings.Trim(word, ":,;") == w.j.workerName(n)
			}
		}
		if !named {
			h.t.Errorf("%s: %q names no worker of %s", w, table.Cases[i].Sees, faultNode)
		}
	}
	return nil
}
