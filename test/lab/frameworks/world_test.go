//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lines is what ranks say that see a world of n on hosts.
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
		"well":            {row{}, outcome{}, ""},
		"badly":           {row{}, outcome{code: 1}, "ended with 1, not 0"},
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
		require.NotEmpty(t, r.want, "%s looks at nothing", r.key)
	}
	require.Len(t, chosen(rows(), "torch", false), 8)
	require.Len(t, chosen(rows(), "torch/sum,jax/auto", true), 2)
	require.Empty(t, chosen(rows(), "torc", false))
}
