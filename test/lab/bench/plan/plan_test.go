package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/lab/bench/report"
)

func by(t *testing.T, name string) design {
	t.Helper()
	for _, d := range designs() {
		if d.name == name {
			return d
		}
	}
	t.Fatalf("no design %q", name)
	return design{}
}

// small returns a site with one core of everything.
func small() site {
	return site{LauncherCores: 1, Servers: 1, ServerCores: 1, PerNode: 1, NodeCores: 1}
}

func TestByHand(t *testing.T) {
	free := design{}
	trees := design{direct: true, tree: true}
	all := Costs{Start: 1e6, Way: 1e-3, Pod: 1e5, ServerPod: 2e5, DialCPU: 1e4, ServerDial: 2e4, NodeExec: 3e4, Hello: 1, Frame: 10, ServerFrame: 100, Session: 1e3, ProcessStart: 2e3}
	up := 1e6 + 3e5 + 6e4 + 2 + 100 + 6e-3
	two := small()
	two.LauncherCores = 2
	for _, c := range []struct {
		name              string
		costs             Costs
		site              site
		d                 design
		n, fanout         int
		greeted, launched float64
	}{
		{"every step of one worker", all, small(), free, 1, 0, up, up + 1e3 + 2*(10+100+10+2e-3) + 2e3},
		{"everything is free", Costs{}, small(), free, 5, 0, 0, 0},
		{"one core dials one worker after the other", Costs{DialCPU: 1}, small(), free, 3, 0, 3, 3},
		{"two cores dial two workers at once", Costs{DialCPU: 1}, two, free, 3, 0, 2, 2},
		{"the server is the bottleneck", Costs{DialCPU: 1, ServerDial: 3}, small(), free, 2, 0, 7, 7},
		{"nodes work in parallel", Costs{NodeExec: 5}, small(), free, 9, 0, 5, 5},
		{"workers of one node share its core", Costs{NodeExec: 5}, site{LauncherCores: 1, Servers: 1, ServerCores: 1, PerNode: 3, NodeCores: 1}, free, 9, 0, 15, 15},
		{"one machine has all the processes", Costs{DialCPU: 1, NodeExec: 2}, site{Servers: 1, PerNode: 9, Shared: 1}, free, 3, 0, 9, 9},
		{"a gate of 2 a second, after a burst of 40", Costs{}, small(), design{rate: 2}, 43, 0, 1.5, 1.5},
		{"one dial at once", Costs{NodeExec: 1}, small(), design{most: 1}, 4, 0, 4, 4},
		{"two dials at once", Costs{NodeExec: 1}, small(), design{most: 2}, 4, 0, 2, 2},
		// The launcher dials workers 1 and 2, worker 1 dials 3: list 2, dial 4 and 4, up 1; down 2, up 2.
		{"a tree, only network delays", Costs{Way: 1}, small(), trees, 3, 2, 11, 15},
		// list 2; contact: 4 to the worker and back; then dial 4.
		{"contact before the link", Costs{Way: 1}, small(), design{direct: true, contact: true}, 1, 0, 10, 12},
		// exec 4 to worker 1, 4 more to 3, 2 up; down 4, up 4.
		{"relays by exec", Costs{Way: 1}, small(), design{tree: true}, 3, 2, 12, 20},
		// list 2; to worker 1 and back 2; then through it to worker 3, 2, and back 2; down 2, up 2.
		{"a sealed tree, only network delays", Costs{Way: 1}, small(), by(t, "pod network, key mounted, sealed tree"), 3, 2, 8, 12},
		// Prove 1 and 2 until 2; both work until 112; read 1 until 212 and 2 until 312; prove 3 until 313; it works until 423; read it.
		{"the launcher proves itself to all", Costs{Prove: 1, Admit: 10, Hello: 100}, small(), by(t, "pod network, key mounted, sealed tree"), 3, 2, 523, 523},
		{"TLS on both sides", Costs{TLSClient: 1, TLSServer: 2}, small(), design{direct: true}, 2, 0, 4, 4},
		{"one answer lists all pods", Costs{ServerPod: 1, Pod: 2}, small(), free, 3, 0, 9, 9},
	} {
		r := launch(c.costs, c.site, c.d, c.n, c.fanout, 0)
		require.InDelta(t, c.greeted, r.Greeted, 1e-6, c.name)
		require.InDelta(t, c.launched, r.Launched, 1e-6, c.name)
	}
}

// costs returns plausible costs that differ from each other.
func costs() Costs {
	var c Costs
	for name, field := range c.fields() {
		*field = 1e-4 * float64(len(name))
	}
	return c
}

func TestEveryWorkerIsServedOnce(t *testing.T) {
	for _, d := range designs() {
		for _, n := range []int{1, 2, 63, 64, 65, 200} {
			for _, seed := range []uint64{0, 1, 2} {
				r := launch(costs(), large(), d, n, 4, seed)
				ones := slices.Repeat([]int{1}, n)
				require.Equal(t, ones, r.greeted, d.name)
				require.Equal(t, ones, r.launched, d.name)
				require.Greater(t, r.Launched, r.Greeted)
				held, execs := n, n
				if d.direct {
					held = 0
				}
				if d.direct && !d.contact {
					execs = 0
				}
				require.Equal(t, held, r.Streams, d.name)
				require.Equal(t, 1+execs, r.Requests, d.name)
				require.Equal(t, r, launch(costs(), large(), d, n, 4, seed), "the same seed must yield the same launch")
			}
		}
	}
}

// TestWorkIsConserved checks that no design loses or duplicates work.
func TestWorkIsConserved(t *testing.T) {
	c := costs()
	const n = 300
	r := launch(c, large(), by(t, "direct, 64 dials at once"), n, 0, 0)
	require.InDelta(t, n*(c.Pod+c.DialCPU+c.Hello+c.Session+2*c.Frame), r.LauncherCPU, 1e-9)
	require.InDelta(t, n*(c.ServerPod+c.ServerDial+3*c.ServerFrame), r.ServerCPU, 1e-9)
	require.InDelta(t, c.LauncherBase+n*(c.LauncherWorker+c.LauncherLink), r.LauncherMB, 1e-9)
	require.InDelta(t, n*c.ServerGoroutines, r.Goroutines, 1e-9)

	r = launch(c, large(), by(t, "pod network, token mounted, tree"), n, 8, 0)
	require.InDelta(t, n*c.ServerPod, r.ServerCPU, 1e-9)
	frames := 0.0 // frames that the launcher sends or receives: forwarded greetings, start requests, lines
	for v := 1; v <= n; v++ {
		frames += 2
		if (shape{n, 8}).parent(v) != 0 {
			frames++
		}
	}
	require.InDelta(t, n*(c.Pod+c.Session)+8*(c.TLSClient+c.Hello)+frames*c.Frame, r.LauncherCPU, 1e-9)
	require.InDelta(t, c.LauncherBase+n*c.LauncherWorker+8*c.TLSLink, r.LauncherMB, 1e-9)

	r = launch(c, large(), by(t, "pod network, key mounted, sealed tree"), n, 8, 0)
	require.InDelta(t, n*(c.Pod+c.Prove+c.Hello+c.Session+4*c.Frame), r.LauncherCPU, 1e-9)
	require.InDelta(t, c.LauncherBase+n*(c.LauncherWorker+c.SealedLink), r.LauncherMB, 1e-9)
}

func TestMoreWorkIsNeverFaster(t *testing.T) {
	for _, d := range designs() {
		before := 0.0
		for n := 1; n <= 1024; n *= 4 {
			r := launch(costs(), large(), d, n, 64, 0)
			require.GreaterOrEqual(t, r.Launched, before-1e-9, "%s, %d workers", d.name, n)
			before = r.Launched
		}
		first := launch(costs(), large(), d, 200, 8, 0)
		c := costs()
		for name, field := range c.fields() {
			was := *field
			*field *= 3
			r := launch(c, large(), d, 200, 8, 0)
			require.GreaterOrEqual(t, r.Launched, 0.99*first.Launched, "%s: %s costs more; a shorter queue may save a little", d.name, name)
			require.GreaterOrEqual(t, r.LauncherMB, first.LauncherMB-1e-9, "%s: %s costs more", d.name, name)
			*field = was
		}
	}
}

func TestShape(t *testing.T) {
	flat, tree := shape{5, 0}, shape{12, 3}
	require.Equal(t, 1, flat.depth())
	require.Equal(t, []int{4}, flat.path(4))
	require.Equal(t, 2, tree.depth())
	require.Equal(t, []int{1, 4}, tree.path(4))
	require.Equal(t, []int{3, 12}, tree.path(12))
	require.Equal(t, 3, shape{13, 3}.depth())
	for _, s := range []shape{flat, tree, {13, 3}, {1, 64}, {100, 2}} {
		seen := make([]int, s.n+1)
		for v := 0; v <= s.n; v++ {
			first, end := s.children(v)
			for child := first; child < end; child++ {
				require.Equal(t, v, s.parent(child))
				seen[child]++
			}
		}
		for v := 1; v <= s.n; v++ {
			require.Equal(t, 1, seen[v], "%d of %+v", v, s)
		}
	}
}

func TestCosts(t *testing.T) {
	c, list, err := readCosts(costsFile, nil)
	require.NoError(t, err)
	for _, one := range list {
		require.Positive(t, one.Value, one.Name)
	}
	require.InDelta(t, 0.03, c.NodeExec, 1e-9, "milliseconds are converted to seconds")
	require.Equal(t, 3.0, c.ServerGoroutines)

	scale := report.Table{Name: "scale", Columns: []report.Column{{Name: "launcher's CPU until all have begun"}, {Name: "API server's goroutines per worker, held"}, {Name: "launcher's memory at its peak"}},
		Rows: []report.Row{
			{Name: "Muster", Size: 1000, Cells: [][]float64{{2.0, 2.2, 2.1}, {}, {150}}},
			{Name: "Muster", Size: 100, Cells: [][]float64{{9}, {24}, {20}}},
		}}
	micro := report.Table{Name: "micro", Columns: []report.Column{{Name: "time"}}, Rows: []report.Row{{Name: "exec/local: RoundTrip", Cells: [][]float64{{12, 8, 50}}}}}
	got, list, err := readCosts(costsFile, []report.Table{micro, scale})
	require.NoError(t, err)
	require.InDelta(t, 2.1e-3-c.Session-c.Hello-c.Pod, got.DialCPU, 1e-9, "per worker, at the largest size, minus the costs that are counted elsewhere")
	require.InDelta(t, 2e-6, got.Frame, 1e-12, "a quarter of the minimum, converted from microseconds")
	require.InDelta(t, (150-c.LauncherBase)/1000-c.LauncherWorker, got.LauncherLink, 1e-9)
	require.Equal(t, 24.0, got.ServerGoroutines, "from the largest size that has it")
	for _, one := range list {
		if one.Name == "dial" {
			require.Equal(t, "measured", one.Known)
			require.Contains(t, one.Where, "at 1000")
		}
	}

	text := string(costsFile)
	for broken, want := range map[string]string{
		"[":                 "read costs",
		"[]":                "is missing",
		`[{"name":"warp"}]`: `"warp" is unknown`,
		strings.Replace(text, `"assumed"`, `"known"`, 1):               "known",
		strings.Replace(text, `"unit": "ms"`, `"unit": "h"`, 1):        `"h"`,
		strings.Replace(text, `"name": "frame"`, `"name": "start"`, 1): "duplicate",
	} {
		_, _, err := readCosts([]byte(broken), nil)
		require.ErrorContains(t, err, want)
	}
}

func TestCompare(t *testing.T) {
	require.Contains(t, compare(costs(), nil, 64, 1), "no measurements yet")
	table := report.Table{Name: "scale", Columns: []report.Column{{Name: "rendezvous and handshake"}}, Rows: []report.Row{{Name: "Muster", Size: 100, Cells: [][]float64{{1}}}}}
	require.Equal(t, "- table scale, rendezvous and handshake, 100 workers: measured 1, in the model 2: +100 %\n", compare(Costs{Start: 2}, []report.Table{table}, 64, 0),
		"the gate does not delay dials that are answered at once")
}

func TestTable(t *testing.T) {
	table := play(costs(), large(), []int{10, 20}, 4, 3)
	require.Len(t, table.Rows, 2*len(designs()))
	require.Contains(t, strings.Join(table.Notes, "\n"), "seed 3")
	for _, r := range table.Rows {
		require.Len(t, r.Cells, len(table.Columns))
	}
	require.Equal(t, table, play(costs(), large(), []int{10, 20}, 4, 3))
}
