//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/launch/report"
)

// lines returns the reports of n ranks that see a world of n on hosts.
func lines(n, sum int, hosts ...string) string {
	var b strings.Builder
	quoted := `"` + strings.Join(hosts, `","`) + `"`
	for rank := range n {
		fmt.Fprintf(&b, "%d: {\"framework\": \"x\", \"rank\": %d, \"world\": %d, \"sum\": %d, \"hosts\": [%s]}\n", rank, rank, n, sum, quoted)
	}
	return b.String()
}

func TestWorld(t *testing.T) {
	alone := strings.Repeat(lines(1, 1, "a"), 3)
	for name, c := range map[string]struct {
		out  string
		each int
		err  string
	}{
		"all":              {lines(3, 6, "a", "b", "c"), 1, ""},
		"two each":         {lines(6, 21, "a", "a", "b", "b", "c", "c"), 2, ""},
		"alone, each":      {alone, 1, "a world of 1"},
		"alone, one":       {lines(1, 1, "a"), 1, "a world of 1"},
		"nothing":          {"", 1, "0 of 3 ranks"},
		"one is missing":   {lines(2, 6, "a", "b", "c"), 1, "a world of 2"},
		"one twice":        {lines(3, 6, "a", "b", "c") + lines(3, 6, "a", "b", "c"), 1, "ranks [0 0 1 1 2 2]"},
		"no sum":           {lines(3, 0, "a", "b", "c"), 1, "the sum 0"},
		"all on one":       {lines(3, 6, "a", "a", "a"), 1, "more than 1 ranks on a"},
		"another's output": {strings.ReplaceAll(lines(3, 6, "a", "b", "c"), `"x"`, `"y"`), 1, "0 of 3 ranks"},
		"hosts differ":     {lines(3, 6, "a", "b", "c")[:len(lines(3, 6, "a", "b", "c"))-5] + "d\"]}\n", 1, "saw the hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := world("x", c.each)(row{}, outcome{out: c.out})
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestJudge(t *testing.T) {
	now := time.Now()
	died := func(before time.Duration) string {
		return fmt.Sprintf("{\"framework\": \"died\", \"rank\": 1, \"at\": %f}\n", float64(now.Add(-before).UnixMicro())/1e6)
	}
	loss := func(from, to string) string {
		return fmt.Sprintf("{\"framework\": \"x\", \"losses\": [%s, %s]}\n", from, to)
	}
	for name, c := range map[string]struct {
		row row
		out outcome
		err string
	}{
		"well":  {row{}, outcome{}, ""},
		"badly": {row{}, outcome{code: 1}, "ended with 1, not 0"},
		"badly, with a verdict": {row{}, outcome{code: 1, err: "agent: 3/3 ready, 0s\n0: oh\nagent: rank 0 on w-0 exited with 1; stopping the rest\nagent:   rank 0 | oh\nagent: ended after 31 s, exit code 1\n"},
			"ended with 1, not 0: rank 0 on w-0 exited with 1; stopping the rest; ended after 31 s, exit code 1"},
		"well, in vain":   {row{code: 137}, outcome{}, "ended with 0, not 137"},
		"something left":  {row{}, outcome{left: []string{"python"}}, "1 processes are left: python"},
		"the loss falls":  {row{want: []want{falls("x")}}, outcome{out: loss("4", "1")}, ""},
		"the loss stays":  {row{want: []want{falls("x")}}, outcome{out: loss("4", "3.9")}, "the loss of rank 0"},
		"the loss is NaN": {row{want: []want{falls("x")}}, outcome{out: loss("4", "NaN")}, "no rank"},
		"no loss":         {row{want: []want{falls("x")}}, outcome{}, "no rank"},
		"ends soon":       {row{want: []want{ends(10 * time.Second)}}, outcome{out: died(9 * time.Second), ended: now}, ""},
		"ends late":       {row{want: []want{ends(10 * time.Second)}}, outcome{out: died(11 * time.Second), ended: now}, "ended 11.0 s after"},
		"nobody died":     {row{want: []want{ends(10 * time.Second)}}, outcome{ended: now}, "0 ranks died"},
		"no model":        {row{want: []want{same("x")}}, outcome{}, "no rank"},
		"two models": {row{want: []want{same("x")}}, outcome{out: `{"framework": "x", "model": "a"}
{"framework": "x", "rank": 1, "model": "b"}`}, "rank 1 has a model of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.row.judge(c.out)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestRows(t *testing.T) {
	keys, known := map[string]bool{}, recipes()
	for _, r := range rows() {
		require.False(t, keys[r.key], "%s twice", r.key)
		keys[r.key] = true
		for _, name := range r.recipes() {
			require.Contains(t, known, name, r.key)
		}
		require.NotEmpty(t, r.want, "%s checks nothing", r.key)
	}
	require.Len(t, chosen(rows(), "torch", false), 9)
	require.Len(t, chosen(rows(), "torch/sum,jax/auto", true), 2)
	require.Empty(t, chosen(rows(), "torc", false))
}

func TestWhole(t *testing.T) {
	began := time.Unix(1000, 0)
	cuts := func(after ...float64) (at []time.Time) {
		for _, s := range after {
			at = append(at, began.Add(time.Duration(s*1e6)*time.Microsecond))
		}
		return at
	}
	sent := func(name string, same bool) string {
		return fmt.Sprintf("{\"framework\": \"transfer\", \"name\": %q, \"at\": 1000.0, \"until\": 1005.0, \"bytes\": 1000000, \"same\": %t}\n", name, same)
	}
	told := &report.Report{Redials: 4}
	for name, c := range map[string]struct {
		out outcome
		err string
	}{
		"well":             {outcome{out: sent("a", true) + sent("b", true), struck: cuts(1, 2), report: told}, ""},
		"one is missing":   {outcome{out: sent("a", true), struck: cuts(1, 2), report: told}, "1 of 2"},
		"differs":          {outcome{out: sent("a", true) + sent("b", false), struck: cuts(1, 2), report: told}, "b: what arrived differs"},
		"never cut":        {outcome{out: sent("a", true) + sent("b", true), struck: cuts(-1, 1, 5.5), report: told}, "a: 1 cuts in its 5.0 s"},
		"links not struck": {outcome{out: sent("a", true) + sent("b", true), struck: cuts(1, 2), report: &report.Report{Redials: 3}}, "report"},
		"no report":        {outcome{out: sent("a", true) + sent("b", true), struck: cuts(1, 2)}, "report"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := whole(2)(row{}, c.out)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestOutlasts(t *testing.T) {
	at := time.Unix(1000, 0)
	judge := outlasts(5*time.Second, 10*time.Second)
	for took, ok := range map[time.Duration]bool{time.Second: false, 6 * time.Second: true, 16 * time.Second: false} {
		_, err := judge(row{}, outcome{struck: []time.Time{at}, ended: at.Add(took)})
		require.Equal(t, ok, err == nil, took)
	}
	_, err := judge(row{}, outcome{ended: at})
	require.ErrorContains(t, err, "before SIGTERM was sent")
}

// TestCutting checks that links are cut from the first transfer on, and that failed cuts do not count.
func TestCutting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks, cuts := time.Now(), 0, 0
		told := befall(t.Context(), row{during: cutting}, live{
			output: func(context.Context) string {
				if looks++; looks < 3 {
					return ""
				}
				return `{"framework": "begins"}`
			},
			cut: func(context.Context) error {
				if cuts++; cuts == 2 {
					return errors.New("no connection")
				}
				return nil
			},
		})
		time.Sleep(2*lookEvery + 3*cutEvery + time.Millisecond)
		struck, err := told()
		require.NoError(t, err)
		require.Len(t, struck, 2)
		require.Equal(t, 2*lookEvery+cutEvery, struck[0].Sub(began))
		require.Equal(t, 2*cutEvery, struck[1].Sub(struck[0]))
	})
}

func TestStopWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := 0
		l := live{
			output: func(context.Context) string { return lines(2, 3, "a", "b") },
			stop:   func(context.Context) error { stops++; return nil },
		}
		told := befall(t.Context(), row{during: stopWhen("x", 3)}, l)
		time.Sleep(time.Second)
		struck, err := told()
		require.NoError(t, err)
		require.Empty(t, struck, "only 2 of 3 ranks have reported")
		require.Zero(t, stops)

		told = befall(t.Context(), row{during: stopWhen("x", 2)}, l)
		time.Sleep(time.Second)
		struck, err = told()
		require.NoError(t, err)
		require.Len(t, struck, 1)
		require.Equal(t, 1, stops)
	})
}

func TestWriteList(t *testing.T) {
	all := []row{
		{key: "a", framework: "A", way: "in CI", ci: true, flags: []string{"--framework=torch"}},
		{key: "b", framework: "B", way: "by hand", argv: []string{"mpirun", "x"}},
		{key: "c", framework: "C", way: "failed", ci: true, flags: []string{"--framework=jax"}},
	}
	results := []result{
		{Key: "a", Where: "cluster", Result: passed}, {Key: "b", Where: "fake", Result: passed},
		{Key: "c", Where: "cluster", Result: failed}, {Key: "c", Where: "fake", Result: notHere},
	}
	const begin, end = "<!-- frameworks: begin -->\n", "<!-- frameworks: end -->\nafter\n"
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n"+begin+"old\n"+end), 0o644))
	require.NoError(t, writeList(page, all, results))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	got := string(text)
	require.NotContains(t, got, "old")
	require.True(t, strings.HasPrefix(got, "before\n"+begin) && strings.HasSuffix(got, end), got)
	ci, rest, ok := strings.Cut(got, "Run by `make frameworks`")
	require.True(t, ok)
	require.Contains(t, ci, "- A: in CI\n")
	byHand, never, ok := strings.Cut(rest, "never run by us")
	require.True(t, ok)
	require.Contains(t, byHand, "- B: by hand (fake workers only)\n")
	require.Contains(t, never, "C, failed")
	require.Contains(t, never, "`--framework=jax`")
	require.NotContains(t, never, "`--framework=torch`")
	require.NotContains(t, never, "openmpi")

	require.NoError(t, os.WriteFile(page, []byte("nothing\n"), 0o644))
	require.Error(t, writeList(page, all, results))
}

// TestConfigMapHoldsOnlyTheScripts checks that Python's cache, which rows on fake workers leave there, is not included.
func TestConfigMapHoldsOnlyTheScripts(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.py"), []byte("pass\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "__pycache__"), 0o700))
	m, err := cluster{scripts: dir}.configMap()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a.py": "pass\n"}, m.(corev1.ConfigMap).Data)
}
