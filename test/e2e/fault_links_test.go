//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// TestBreakLinks: what cuts links and no process. Under an Open MPI job, an
// MPICH job and raw sessions of 20 workers each: 60 links.
func TestBreakLinks(t *testing.T) {
	t.Cleanup(func() { awaitControllers(t) })
	f := newFaults(t)
	for _, row := range []fault{
		{event: "all streams cut 10 times", survived: true, strike: cutTenTimes, after: cuts},
		{event: "kubelets restarted", survived: true, strike: func(h *hit) { onBothNodes(h, "kubelet", "restart") }},
		{event: "containerd restarted", survived: true, strike: restartContainerd, after: bridges},
		{event: "packets of the launchers lost for 20 s", survived: true, strike: dropFor20s, after: shown},
		{event: "token expired and rotated", survived: true, launcher: ownToken, strike: rotate, after: shown},
		{event: "API server stopped for 20 s", survived: true, strike: stopFor20s, after: resumed},
	} {
		t.Run(row.event, func(t *testing.T) {
			if row.launcher != nil {
				issueTokens(&space{t: t, name: f.s.name}, f, firstToken)
			}
			row.run(t, f)
		})
	}
}

func cutTenTimes(h *hit) {
	ips := h.launcherIPs()
	for range 10 {
		cluster(h.t, append([]string{"apiserver", "cut"}, ips...)...)
		h.relinked()
		time.Sleep(300 * time.Millisecond) // something passes in between
	}
}

// relinked waits until every link of every launcher is up again.
func (h *hit) relinked() {
	h.t.Helper()
	for _, w := range h.works {
		w.relinked()
	}
}

// cuts: every link was cut every time, and was back within 3 s: the server
// answered all the while.
func cuts(_ *hit, table *faultTable) []figure.Row {
	for _, c := range table.Cases {
		table.Links += c.Redials
		table.Resumed = max(table.Resumed, c.Seconds)
	}
	return []figure.Row{
		{Name: "links cut", Op: ">=", Bar: 10 * 3 * faultWorkers, Log: "links_cut"},
		resumedWithin(figure.Row{Name: fmt.Sprintf("%d links cut at once: all resumed", 3*faultWorkers), Unit: "s", Log: "resumed_s"}),
	}
}

// restartContainerd counts bridges 20 s later: an old one never sees EOF.
func restartContainerd(h *hit) {
	onBothNodes(h, "containerd", "restart")
	pods := h.f.workerPods(h.space)
	time.Sleep(time.Until(h.at.Add(20 * time.Second)))
	for _, list := range processesOf(h.t, pods) {
		n := 0
		for _, p := range list {
			if p.isAttach() {
				n++
			}
		}
		h.bridges = max(h.bridges, n)
	}
	require.Positive(h.t, h.bridges, "no bridge was there to be counted")
}

func bridges(h *hit, table *faultTable) []figure.Row {
	table.Extra = h.bridges
	return []figure.Row{{Name: "bridges in any worker 20 s later", Op: "<=", Bar: 1, Log: "extra"}}
}

func dropFor20s(h *hit) {
	ips := h.launcherIPs()
	pass := func() { cluster(h.t, "apiserver", "pass") }
	h.t.Cleanup(pass)
	cluster(h.t, append([]string{"apiserver", "drop"}, ips...)...)
	time.Sleep(time.Until(h.at.Add(20 * time.Second)))
	pass()
	h.back = time.Now()
	h.relinked()
}

func stopFor20s(h *hit) {
	cont := func() { cluster(h.t, "apiserver", "cont") }
	h.t.Cleanup(cont)
	cluster(h.t, "apiserver", "stop")
	time.Sleep(time.Until(h.at.Add(20 * time.Second)))
	cont()
	h.back = time.Now()
	h.relinked()
}
