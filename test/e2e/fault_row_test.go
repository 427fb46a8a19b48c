//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/figure"
)

// fault is one row: a fault of three jobs in the middle of their work.
type fault struct {
	event string // its name in the table
	// survived means that every launcher exits with 0 and no line is lost or doubled. Otherwise the launcher exits
	// with another code, within limit of the fault, and names the victim.
	survived bool
	limit    time.Duration
	victim   int           // number of the worker that is struck; -1: any worker, or none
	lease    time.Duration // only for short leases: the time after which no process may be left
	flags    []string
	launcher func(*corev1.Pod)
	command  func(j job) []string // instead of the loads
	begun    string               // the output of command when it is in the middle of its work
	strike   func(h *hit)
	after    func(h *hit, table *faultTable) []figure.Row // checks what is specific to this row
}

// hit is a fault in progress.
type hit struct {
	*space
	t     *testing.T
	f     *faults
	works []*work
	at    time.Time // the time of the fault
	// bridges is the maximum number of bridges in a worker.
	bridges int
	back    time.Time // when the part that failed was available again; zero if that did not happen
}

// launcherIPs returns the addresses of the launchers' pods.
func (h *hit) launcherIPs() []string {
	h.t.Helper()
	var all []string
	for _, w := range h.works {
		all = append(all, h.pod(w.pod).Status.PodIP)
	}
	return all
}

// run causes the fault and records the result.
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

// judge returns the result of one launcher.
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

// leftovers searches every worker for processes of the jobs.
func (row fault) leftovers(h *hit, table *faultTable) {
	// A link that was cut silently keeps its bridge for 15 s.
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

// leaseMargin is the time that a worker needs to stop everything when the lease ends: 5 s between TERM and KILL,
// and the inaccuracy of its clock.
const leaseMargin = 10 * time.Second

// tail returns the end of a text.
func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// resumed returns the figure with a bar: the time from the server's answer to the last link.
func resumed(h *hit, table *faultTable) []figure.Row {
	rows := shown(h, table)
	rows[1] = resumedWithin(rows[1])
	return rows
}

// resumedWithin sets the bar of a time that mostly consists of 60 execs of the container runtime. It applies only
// if the machine is idle, as `make e2e-fault` requires. Otherwise the figure has no bar.
func resumedWithin(row figure.Row) figure.Row {
	if os.Getenv("MUSTER_E2E_IDLE") != "" {
		row.Op, row.Bar = "<=", 3
	}
	return row
}

// shown is resumed without the bar, for faults after which the API server need not recover.
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

// onBothNodes runs a verb of test/lab/cluster for each node, at the same time.
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

// faultCase is one line of the table: a fault, a job that it struck, and what its user saw.
type faultCase struct {
	Event   string    `json:"event"`
	Load    string    `json:"load"`
	At      time.Time `json:"at"`
	Sees    string    `json:"sees"`
	Code    int       `json:"code"`
	Seconds float64   `json:"seconds"` // survived: the longest time without a link; otherwise from the fault to the launcher's end
	Lines   int       `json:"lines,omitempty"`
	Wrong   int       `json:"wrong"`
	Redials int       `json:"redials,omitempty"`
	Left    []string  `json:"left"` // processes in the workers after the lease
}

// faultTable has the raw numbers of a row.
type faultTable struct {
	Cases    []faultCase `json:"cases"`
	Left     int         `json:"left"`
	Wrong    int         `json:"wrong"`
	Worst    float64     `json:"worst_s"`   // the maximum of the cases' seconds
	BadCodes int         `json:"bad_codes"` // 0 although it did not survive, or another code although it did
	Extra    any         `json:"extra,omitempty"`
	// Resumed is the time from the server's answer until the last link is up again.
	Resumed float64 `json:"resumed_s,omitempty"`
	Links   int     `json:"links_cut,omitempty"`
}

// unknownCode is the exit code of a pod that was deleted without one.
const unknownCode = -1

const faultRaw = "e2e-fault-"

func faultSlug(event string) string {
	return strings.NewReplacer(" ", "-", "'", "", ",", "", "(", "", ")", "", ":", "").Replace(strings.ToLower(event))
}

// record records the row's raw numbers and its figures. If a figure misses its bar, the test fails.
func (f *faultTable) record(t *testing.T, event string, rows ...figure.Row) {
	t.Helper()
	f.Left, f.Wrong, f.Worst = 0, 0, 0
	for _, c := range f.Cases {
		f.Left, f.Wrong, f.Worst = f.Left+len(c.Left), f.Wrong+c.Wrong, max(f.Worst, c.Seconds)
		t.Logf("%s | %s | %s | exit %d | %.1f s | left %v", c.Event, c.Load, c.Sees, c.Code, c.Seconds, c.Left)
	}
	dir, err := figure.Dir()
	require.NoError(t, err)
	rows = append(rows,
		figure.Row{Name: "exit codes that say the wrong thing", Op: "==", Bar: 0, Log: "bad_codes"},
		figure.Row{Name: "processes left in workers once the lease has passed", Op: "==", Bar: 0, Log: "left"})
	for i := range rows {
		rows[i].Name = "cluster, " + event + ": " + rows[i].Name
	}
	kept, err := figure.Keep(dir, "make e2e", faultRaw+faultSlug(event), f, rows...)
	require.NoError(t, err)
	assert.NoError(t, figure.Missed(kept))
}

// printFaults prints the table of the rows recorded since begin.
func printFaults(out io.Writer, begin time.Time) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "raw", faultRaw+"*.json"))
	if err != nil {
		return err
	}
	var all []faultCase
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.ModTime().Before(begin) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var table faultTable
		if err := json.Unmarshal(data, &table); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, table.Cases...)
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b faultCase) int { return a.At.Compare(b.At) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tjob\texit\tseconds\tleft\twhat the user sees")
	for _, c := range all {
		code := strconv.Itoa(c.Code)
		if c.Code == unknownCode {
			code = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%d\t%s\n", c.Event, c.Load, code, c.Seconds, len(c.Left), c.Sees)
	}
	return w.Flush()
}
