package straggler

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	for name, row := range map[string]struct {
		times  []float64
		median float64
		slow   []int
	}{
		"none":                          {nil, 0, nil},
		"three ranks are too few":       {[]float64{1, 1, 9}, 1, nil},
		"one of four":                   {[]float64{1, 1, 1, 1.2}, 1, []int{3}},
		"equal ranks, 14 % slower":      {[]float64{1, 1, 1, 1, 1.14}, 1, nil},
		"equal ranks, 16 % slower":      {[]float64{1, 1, 1, 1, 1.16}, 1, []int{4}},
		"noise that is larger":          {[]float64{0.8, 0.9, 1, 1.1, 1.2, 1.3}, 1.05, nil},
		"beyond the noise":              {[]float64{0.8, 0.9, 1, 1.1, 1.2, 3}, 1.05, []int{5}},
		"a rank that is faster":         {[]float64{0.5, 1, 1, 1, 1}, 1, nil},
		"half is slower":                {[]float64{1, 1, 1, 2, 2, 2}, 1.5, nil},
		"a third is slower":             {[]float64{1, 1, 1, 1, 2, 2}, 1, []int{4, 5}},
		"more than a third is slower":   {[]float64{1, 1, 1, 1, 1, 2, 2, 2}, 1, nil},
		"times that cannot be compared": {[]float64{0, 0, 0, 0, 1}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			middle, slow := Judge(row.times)
			var which []int
			for i, is := range slow {
				if is {
					which = append(which, i)
				}
			}
			require.InDelta(t, row.median, middle, 1e-9)
			require.Equal(t, row.slow, which)
		})
	}
}

func TestSentences(t *testing.T) {
	change := func(rank int, seconds float64) Change {
		return Change{Rank: rank, Time: seconds, Median: 1, Ranks: 20}
	}
	places := map[int]Place{7: {"w-3", "gpu-12"}, 8: {"w-4", ""}, 9: {"w-4", ""}}
	recovered := change(7, 1.04)
	recovered.Recovered = true
	var got []string
	for _, f := range Group([]Change{recovered, change(7, 1.31), change(8, 1.2), change(9, 1.5), change(11, 1.4)}, func(rank int) Place { return places[rank] }) {
		got = append(got, f.Sentence())
	}
	require.Equal(t, []string{
		"ranks 8-9 on w-4 are up to 50 % slower than the median of 20 ranks: 1.50 s a step, median 1.00 s",
		"rank 11 is 40 % slower than the median of 20 ranks: 1.40 s a step, median 1.00 s",
		"rank 7 on w-3 (node gpu-12) is 31 % slower than the median of 20 ranks: 1.31 s a step, median 1.00 s",
		"rank 7 on w-3 (node gpu-12) is no longer slower than the others: 1.04 s a step, median of 20 ranks 1.00 s",
	}, got)
	for want, seconds := range map[string]float64{"0.50 ms": 0.0005, "84 ms": 0.084, "1.31 s": 1.31, "12.5 s": 12.46, "3600 s": 3600} {
		require.Equal(t, want, Seconds(seconds))
	}
	require.Equal(t, "0-2,4,7-8", Ranks([]int{0, 1, 2, 4, 7, 8}))
	require.Empty(t, Ranks(nil))
}
