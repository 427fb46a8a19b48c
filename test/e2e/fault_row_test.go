//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/figure"
)

// fault is one row: what happens to three jobs in the middle of their work.
type fault struct {
	event string // as the table calls it
	// survived: every launcher ends with 0 and nothing is lost or doubled. Else
	// it ends with another code, within limit of the fault, and names the victim.
	survived bool
	limit    time.Duration
	victim   int           // number of the worker that is struck; -1: any, or none
	lease    time.Duration // short ones only: how long until nothing may be left
	flags    []string
	launcher func(*corev1.Pod)
	command  func(j job) []string // instead of the loads
	begun    string               // what command says when it is in the middle
	strike   func(h *hit)
	after    func(h *hit, table *faultTable) []figure.Row // looks at what only this row has
}

// hit is a fault that happens.
type hit struct {
	*space
	t     *testing.T
	f     *faults
	works []*work
	at    time.Time // when it was struck
	// bridges is the most that any worker had.
	bridges int
	back    time.Time // when what was taken away was there again; zero: it was not
}

// launcherIPs are the addresses of the launchers' pods.
func (h *hit) launcherIPs() []string {
	h.t.Helper()
	var all []string
	for _, w := range h.works {
		all = append(all, h.pod(w.pod).Status.PodIP)
	}
	return all
}

// run strikes the jobs and records what came of it.
func (row fault) run(t *testing.T, f *faults) {
	s := &space{t: t, name: f.s.name}
	f.heal(t)
	works := f.start(s, row)
	h := &hit{space: s, t: t, f: f, works: works, at: time.Now()}
	row.strike(h)
	if row.survived {
		require.NoError(t, os.WriteFile(f.over(), nil, 0o666))
	}
	var table faultTable
	for _, w := range works {
		w.end = s.end(w.pod, row.limit+2*time.Minute)
		table.Cases = append(table.Cases, row.judge(h, w, &table))
	}
	row.leftovers(h, &table)
	var rows []figure.Row
	if row.survived {
		rows = append(rows, figure.Row{Name: "lines lost or doubled", Op: "==", Bar: 0, Log: "wrong"})
	} else {
		rows = append(rows, figure.Row{Name: "seconds to the launcher's exit", Unit: "s", Op: "<=", Bar: row.limit.Seconds(), Log: "worst_s"})
	}
	if row.after != nil {
		rows = append(rows, row.after(h, &table)...)
	}
	table.record(t, row.event, rows...)
	if t.Failed() {
		for _, w := range works {
			t.Logf("--- %s\n%s", w, tail(w.end.log, 4000))
		}
	}
}

// judge says what one launcher came to.
func (row fault) judge(h *hit, w *work, table *faultTable) faultCase {
	c := faultCase{Event: row.event, Load: w.kind, At: h.at, Sees: w.sees(), Code: w.end.code, Left: []string{}}
	if (w.end.code == 0) != row.survived {
		table.BadCodes++
		h.t.Errorf("%s: exit code %d", w, w.end.code)
	}
	if row.survived {
		r := w.report(h.t)
		c.Redials = r.Redials
		for _, ms := range r.GapsMS {
			c.Seconds = max(c.Seconds, float64(ms)/1000)
		}
		c.Wrong, c.Lines = w.wrong(h.t)
		return c
	}
	c.Seconds = max(0, w.end.finished.Sub(h.at).Seconds())
	if row.victim >= 0 && !strings.Contains(c.Sees, w.j.workerName(row.victim)) {
		h.t.Errorf("%s: %q does not name %s", w, c.Sees, w.j.workerName(row.victim))
	}
	return c
}

// leftovers looks into every worker for what is left of the jobs.
func (row fault) leftovers(h *hit, table *faultTable) {
	// A link that was cut silently leaves its bridge for 15 s.
	limit := 20 * time.Second
	if row.lease > 0 {
		limit = max(limit, time.Until(h.at.Add(row.lease+leaseMargin)))
	}
	pods := h.f.workerPods(h.space)
	for _, what := range left(h.t, pods, limit) {
		for i, w := range h.works {
			if strings.HasPrefix(what, w.j.name+"-") {
				table.Cases[i].Left = append(table.Cases[i].Left, what)
			}
		}
	}
}

// leaseMargin is what a worker needs to stop everything at the lease's end:
// 5 s between TERM and KILL, and its clock.
const leaseMargin = 10 * time.Second

// tail is the end of a text.
func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// resumed gives the figure of the issue: from the server's answer to the last link.
func resumed(h *hit, table *faultTable) []figure.Row {
	rows := shown(h, table)
	rows[1] = resumedWithin(rows[1])
	return rows
}

// resumedWithin puts the bar on a time that is mostly that of 60 execs of the
// container runtime: where the machine is known to be idle, which `make e2e-fault`
// asks for. Elsewhere the figure is shown.
func resumedWithin(row figure.Row) figure.Row {
	if os.Getenv("MUSTER_E2E_IDLE") != "" {
		row.Op, row.Bar = "<=", 3
	}
	return row
}

// shown is resumed without the bar, for what is no answer of the server's.
func shown(h *hit, table *faultTable) []figure.Row {
	h.t.Helper()
	require.False(h.t, h.back.IsZero())
	for _, w := range h.works {
		last, links := w.lastLink(h.t, h.at)
		table.Links += links
		table.Resumed = max(table.Resumed, last.Sub(h.back).Seconds())
	}
	return []figure.Row{
		{Name: "links made again", Op: ">=", Bar: 3 * faultWorkers, Log: "links_cut"},
		{Name: fmt.Sprintf("all %d links resumed after the server answers again", 3*faultWorkers), Unit: "s", Log: "resumed_s"},
	}
}

// onBothNodes runs a verb of test/lab/cluster for each node, one at once.
func onBothNodes(h *hit, verb ...string) {
	h.t.Helper()
	done := make(chan error, 2)
	for _, node := range []string{"node1", "node2"} {
		go func() {
			out, err := clusterVerb(append(verb, node)...)
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			done <- err
		}()
	}
	for range 2 {
		require.NoError(h.t, <-done)
	}
}
