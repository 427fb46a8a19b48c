package usage

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/straggler"
)

func known(n int64) *int64 { return &n }

func TestTable(t *testing.T) {
	fast := Worker{Worker: "w-0", Node: "n-0", CPU: known(250), Memory: known(64 << 20), GPU: known(0)}
	fast.SetSteps([]int{1, 0, 0}, map[int]straggler.Step{0: {Seconds: 1}, 1: {Seconds: 0.9}})
	slow := Worker{Worker: "w-1", Node: "n-1"}
	slow.SetSteps([]int{2, 3}, map[int]straggler.Step{2: {Seconds: 1}, 3: {Seconds: 1.5, Straggler: true, Median: 1, Ranks: 4}})
	all := []Worker{{Worker: "w-10"}, {Worker: "w-2"}, fast, slow}
	Sort(all)
	require.Equal(t, [][]string{
		{"w-1", "n-1", "2-3", Unknown, Unknown, Unknown, "1.50 s", "3"},
		{"w-0", "n-0", "0-1", "250m", "64Mi", "0%", "1.00 s", "<none>"},
		{"w-2", "<none>", Unknown, Unknown, Unknown, Unknown, Unknown, "<none>"},
	}, Rows(all, 3))
	for _, row := range Rows(all, 9) {
		require.Len(t, row, len(Head()))
	}
	require.Equal(t, []string{
		"3 of 4 workers are shown, the slowest first; -o json has all",
		"rank 3 on w-1 (node n-1) is 50 % slower than the median of 4 ranks: 1.50 s a step, median 1.00 s",
	}, Sentences(all, 3))
	require.Empty(t, Sentences(all[2:], 9))
	median, ranks := Median(all)
	require.InDelta(t, 1, median, 1e-9)
	require.Equal(t, 4, ranks)
}

func TestMerge(t *testing.T) {
	cluster := []Worker{{Worker: "a", Node: "n", CPU: known(5), Ranks: []Rank{{Rank: 0}}}, {Worker: "b"}}
	launcher := []Worker{{Worker: "a", CPU: known(9), Memory: known(3), Ranks: []Rank{{Rank: 0, Step: 2}}}, {Worker: "c", Node: "m"}}
	require.Equal(t, []Worker{
		{Worker: "a", Node: "n", CPU: known(5), Memory: known(3), Ranks: []Rank{{Rank: 0, Step: 2}}},
		{Worker: "b"}, {Worker: "c", Node: "m"},
	}, Merge(cluster, launcher))
	require.Equal(t, cluster, Merge(cluster, nil))
}

// TestAScreenForThousandWorkers checks that a job of 1,000 workers fits a screen, and its answer the
// broker's limit of 8 MiB.
func TestAScreenForThousandWorkers(t *testing.T) {
	var all []Worker
	size := 0
	for i := range 1000 {
		w := Worker{Worker: fmt.Sprintf("job-worker-%d", i), Node: fmt.Sprintf("node-%d", i), CPU: known(8000), Memory: known(1 << 36)}
		for rank := range 8 {
			w.Ranks = append(w.Ranks, Rank{Rank: i*8 + rank, Step: 1.0123456789 + float64(i%7)/10, Straggler: i%100 == 0, Median: 1, Ranks: 8000})
		}
		all = append(all, w)
		text, err := json.Marshal(w)
		require.NoError(t, err)
		size += len(text)
	}
	Sort(all)
	require.LessOrEqual(t, len(Rows(all, 20))+len(Sentences(all, 20)), 40)
	require.Less(t, size, 8<<20)
}
