package progress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	step = `step (\d+)`
	ten  = 10 * time.Second
)

func TestRules(t *testing.T) {
	steps := Rule{Expect: step, Within: ten}
	byRank := Rule{Expect: step, Within: ten, ByRank: true}
	together := slices.Concat[[]event]
	for name, row := range map[string]struct {
		rules  []Rule
		ranks  int
		events []event
		want   []string
	}{
		"no output": {rules: []Rule{steps}, want: []string{"10 no progress: no line has matched expect 'step (\\d+)' in the first 10 s"}},
		"the first line may take longer": {rules: []Rule{{Expect: step, Within: ten, FirstWithin: 30 * time.Second}}, events: every(25, 60, 9, 0, 1, "step "),
			want: nil},
		"the first line takes too long": {rules: []Rule{{Expect: step, Within: ten, FirstWithin: 30 * time.Second}}, events: every(31, 60, 9, 0, 1, "step "),
			want: []string{"30 no progress: no line has matched expect 'step (\\d+)' in the first 30 s", "31 progress again: expect 'step (\\d+)' matched a line of rank 0: step 1"}},
		"only a first line is required": {rules: []Rule{{Expect: "loaded", FirstWithin: ten}}, events: []event{say(9, 1, "data loaded")}},
		"progress stalls": {rules: []Rule{steps}, events: every(1, 21, 5, 3, 100, "step "),
			want: []string{"31 no progress: the number of expect 'step (\\d+)' has not grown beyond 104 for 10 s; the last matching line (rank 3, 10 s ago): step 104"}},
		"the same number repeated": {rules: []Rule{steps}, events: together(every(1, 5, 1, 0, 7, "step "), []event{say(6, 1, "step 11")}, every(8, 60, 60, 1, 11, "step "), []event{say(14, 0, "step 11 x")}),
			want: []string{"15 no progress: the number of expect 'step (\\d+)' has not grown beyond 11 for 10 s; the last matching line (rank 0, 1.0 s ago): step 11 x"}},
		"the number shrinks": {rules: []Rule{steps}, events: together([]event{say(1, 0, "step 1000")}, every(2, 60, 1, 0, 1, "step ")),
			want: []string{"11 no progress: the number of expect 'step (\\d+)' has not grown beyond 1000 for 10 s; the last matching line (rank 0, 0.0 s ago): step 10"}},
		"a stall, a restart, and the number grows again": {rules: []Rule{steps}, events: together([]event{say(1, 0, "step 1000"), {at: 15, do: "reset"}}, every(18, 60, 9, 0, 1, "step ")),
			want: []string{"11 no progress: the number of expect 'step (\\d+)' has not grown beyond 1000 for 10 s; the last matching line (rank 0, 10 s ago): step 1000", "18 progress again: expect 'step (\\d+)' matched a line of rank 0: step 1"}},
		"a stall, a restart, and another stall": {rules: []Rule{steps}, events: together([]event{say(1, 0, "step 1000"), {at: 15, do: "reset"}}, every(30, 60, 9, 0, 1, "step ")),
			want: []string{"11 no progress: the number of expect 'step (\\d+)' has not grown beyond 1000 for 10 s; the last matching line (rank 0, 10 s ago): step 1000", "25 no progress: no line has matched expect 'step (\\d+)' in the first 10 s", "30 progress again: expect 'step (\\d+)' matched a line of rank 0: step 1"}},
		"the number shrinks after a restart": {rules: []Rule{steps}, events: together([]event{say(1, 0, "step 1000"), {at: 2, do: "reset"}}, every(2, 60, 1, 0, 1, "step "))},
		"slow but moving":                    {rules: []Rule{steps}, events: every(0, 60, 9, 0, 1, "step ")},
		"a number that is NaN":               {rules: []Rule{{Expect: "loss=(.*)", Within: ten}}, events: []event{say(1, 0, "loss=nan"), say(9, 0, "loss=NaN")}, want: []string{"10 no progress: expect 'loss=(.*)' has captured no number in the first 10 s; the last matching line (rank 0, 1.0 s ago): loss=NaN"}},
		"epochs of many steps":               {rules: []Rule{{Expect: `epoch (\d+) step (\d+)`, Within: ten}}, events: together(every(0, 20, 5, 0, 10, "epoch 1 step "), every(25, 60, 5, 0, 1, "epoch 2 step "))},
		"a group that is not a number":       {rules: []Rule{{Expect: `(step|batch) (\d+)(/\d+)?`, Within: ten}}, events: every(0, 60, 5, 0, 10, "step ")},
		"lines without numbers stop":         {rules: []Rule{{Expect: "saved", Within: ten}}, events: []event{say(5, 1, "saved")}, want: []string{"15 no progress: no line has matched expect 'saved' for 10 s; the last matching line (rank 1, 10 s ago): saved"}},
		"lines without numbers":              {rules: []Rule{{Expect: "saved", Within: ten}}, events: every(0, 60, 10-1, 5, 1, "saved as ")},
		"colored lines":                      {rules: []Rule{steps}, events: every(0, 60, 5, 0, 1, "\x1b[1mst\x1b[0mep \x1b[32m")},
		"output that was held up":            {rules: []Rule{steps}, events: []event{say(1, 0, "step 1"), {at: 10, do: "excuse"}, {at: 19, do: "excuse"}, {at: 28, do: "excuse"}, {at: 37, do: "excuse"}, {at: 46, do: "excuse"}, {at: 55, do: "excuse"}}},
		"only other lines":                   {rules: []Rule{{FailOn: "loss.*nan"}}, events: every(0, 60, 1, 0, 1, "loss=")},
		"a forbidden line":                   {rules: []Rule{{FailOn: "loss.*nan"}}, events: []event{say(3, 2, "loss = nan"), say(4, 3, "loss = nan")}, want: []string{"3 failed line: fail-on 'loss.*nan' matched a line of rank 2: loss = nan"}},
		"a line of an unknown rank":          {rules: []Rule{{FailOn: "nan"}}, events: []event{say(3, NoRank, "nan\x1b[0m\a")}, want: []string{"3 failed line: fail-on 'nan' matched a line: nan?"}},
		"two rules":                          {rules: []Rule{steps, {FailOn: "nan"}}, events: []event{say(9, 0, "step nan")}, want: []string{"9 failed line: fail-on 'nan' matched a line of rank 0: step nan", "10 no progress: no line has matched expect 'step (\\d+)' in the first 10 s"}},
		"by rank: one stalls":                {rules: []Rule{byRank}, ranks: 3, events: together(every(0, 60, 5, 0, 1, "step "), every(0, 20, 5, 1, 1, "step "), every(0, 60, 5, 2, 1, "step ")), want: []string{"30 no progress on rank 1: the number of expect 'step (\\d+)' has not grown beyond 5 for 10 s; the last matching line (rank 1, 10 s ago): step 5"}},
		"by rank: two print nothing":         {rules: []Rule{byRank}, ranks: 3, events: every(0, 60, 5, 0, 1, "step "), want: []string{"10 no progress on rank 1 and 1 more rank: no line has matched expect 'step (\\d+)' in the first 10 s"}},
		"by rank: one has ended":             {rules: []Rule{byRank}, ranks: 2, events: together(every(0, 60, 5, 0, 1, "step "), every(0, 10, 5, 1, 1, "step "), []event{{at: 12, rank: 1, do: "ended"}})},
		"by rank: a slow one":                {rules: []Rule{byRank}, ranks: 2, events: together(every(0, 60, 5, 0, 1000, "step "), every(0, 60, 9, 1, 1, "step "))},
		"by rank: unknown number of ranks":   {rules: []Rule{byRank}, events: together(every(2, 60, 5, 4, 1, "step "), every(2, 20, 5, 7, 1, "step ")), want: []string{"27 no progress on rank 7: the number of expect 'step (\\d+)' has not grown beyond 4 for 10 s; the last matching line (rank 7, 10 s ago): step 4"}},
		"by rank: no output":                 {rules: []Rule{byRank}, want: []string{"10 no progress: no line has matched expect 'step (\\d+)' in the first 10 s"}},
		"by rank: a process without a rank":  {rules: []Rule{byRank}, ranks: 1, events: together(every(0, 60, 5, 0, 1, "step "), []event{say(1, NoRank, "step 1")})},
		"by rank: two stall, and one moves again": {rules: []Rule{byRank}, ranks: 3, events: together(every(0, 60, 5, 0, 1, "step "), []event{say(0, 1, "step 1"), say(0, 2, "step 1")}, every(20, 60, 5, 1, 2, "step ")),
			want: []string{"10 no progress on rank 1 and 1 more rank: the number of expect 'step (\\d+)' has not grown beyond 1 for 10 s; the last matching line (rank 1, 10 s ago): step 1"}},
		"by rank: two stall, and both move again": {rules: []Rule{byRank}, ranks: 3, events: together(every(0, 60, 5, 0, 1, "step "), []event{say(0, 1, "step 1"), say(0, 2, "step 1")}, every(20, 60, 5, 1, 2, "step "), every(30, 60, 5, 2, 2, "step ")),
			want: []string{"10 no progress on rank 1 and 1 more rank: the number of expect 'step (\\d+)' has not grown beyond 1 for 10 s; the last matching line (rank 1, 10 s ago): step 1",
				"30 progress again on rank 1 and 1 more rank: expect 'step (\\d+)' matched a line of rank 1: step 4"}},
		"by rank: one moves again when another stalls": {rules: []Rule{byRank}, ranks: 2, events: []event{say(0, 0, "step 1"), say(5, 1, "step 1"), say(15, 0, "step 2"), say(20, 0, "step 3"), say(25, 1, "step 2"), say(30, 0, "step 4"), {at: 31, rank: 0, do: "ended"}, {at: 32, rank: 1, do: "ended"}},
			want: []string{"10 no progress on rank 0: the number of expect 'step (\\d+)' has not grown beyond 1 for 10 s; the last matching line (rank 0, 10 s ago): step 1",
				"15 no progress on rank 1: the number of expect 'step (\\d+)' has not grown beyond 1 for 10 s; the last matching line (rank 1, 10 s ago): step 1",
				"25 progress again on rank 0 and 1 more rank: expect 'step (\\d+)' matched a line of rank 0: step 3"}},
		"by rank: the stalled ranks have ended": {rules: []Rule{byRank}, ranks: 3, events: together(every(0, 60, 5, 0, 1, "step "), []event{{at: 12, rank: 1, do: "ended"}, {at: 14, rank: 2, do: "ended"}}),
			want: []string{"10 no progress on rank 1 and 1 more rank: no line has matched expect 'step (\\d+)' in the first 10 s", "14 progress again: rank 1 and 1 more rank have ended; expect 'step (\\d+)' holds for the others"}},
		"by rank: the one that stalled has ended": {rules: []Rule{byRank}, ranks: 2, events: together(every(0, 60, 5, 0, 1, "step "), []event{{at: 12, rank: 1, do: "ended"}}),
			want: []string{"10 no progress on rank 1: no line has matched expect 'step (\\d+)' in the first 10 s", "12 progress again: rank 1 has ended; expect 'step (\\d+)' holds for the others"}},
		"by rank: output comes late": {rules: []Rule{byRank}, events: every(12, 60, 9, 4, 1, "step "),
			want: []string{"10 no progress: no line has matched expect 'step (\\d+)' in the first 10 s", "12 progress again on rank 4: expect 'step (\\d+)' matched a line of rank 4: step 1"}},
		"by rank: a process without a rank ends": {rules: []Rule{byRank}, events: []event{{at: 12, rank: NoRank, do: "ended"}},
			want: []string{"10 no progress: no line has matched expect 'step (\\d+)' in the first 10 s"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, play(t, row.rules, row.ranks, 60, row.events...))
		})
	}
}

// TestNoFalseVerdictOnLinesOutOfOrder checks that lines out of order cause no verdict. It shuffles
// the lines of 1,000 ranks, each up to nine seconds late. Each rank's number grows every second.
func TestNoFalseVerdictOnLinesOutOfOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, byRank := range []bool{false, true} {
		set, err := Compile([]Rule{{Expect: step, Within: 20 * time.Second, ByRank: byRank}, {FailOn: "loss.*nan"}})
		require.NoError(t, err)
		const ranks, seconds = 1000, 60
		w := set.Begin(start, ranks)
		arrive := map[int][]event{}
		for rank := range ranks {
			for second := range seconds {
				at := second + r.IntN(10)
				arrive[at] = append(arrive[at], say(at, rank, fmt.Sprintf("[%d] step %d loss=0.%d", rank, second, r.IntN(100))))
			}
		}
		for second := range seconds {
			now := start.Add(time.Duration(second) * time.Second)
			list := arrive[second]
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			for _, e := range list {
				require.False(t, w.Feed(e.rank, []byte(e.line), now))
			}
			require.Empty(t, w.Look(now))
		}
		require.Len(t, w.Look(start.Add(100*time.Second)), 1, "a stall is reported when the lines stop")
	}
}

// TestARuleFiresExactlyWhenNoNumberGrows checks that a rule fires if and only if no number has
// exceeded all earlier numbers within its time, whatever lines arrive.
func TestARuleFiresExactlyWhenNoNumberGrows(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var events []event
		want, since, best, fired := []int(nil), 0, -1, false
		for second := range 200 {
			if r.IntN(6) == 0 {
				n := r.IntN(400)
				events = append(events, say(second, r.IntN(5), fmt.Sprint("step ", n)))
				if n > best {
					best, since, fired = n, second, false
				}
			}
			if !fired && second-since >= 10 {
				want, fired = append(want, second), true
			}
		}
		var got []int
		for _, said := range play(t, []Rule{{Expect: step, Within: ten}}, 5, 199, events...) {
			var second int
			_, err := fmt.Sscan(said, &second)
			require.NoError(t, err)
			if !strings.Contains(said, Again) {
				got = append(got, second)
			}
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
}

// TestQuiet checks that a verdict says how long there was no progress, and not only no line.
func TestQuiet(t *testing.T) {
	set, err := Compile([]Rule{{Expect: step, Within: ten}, {FailOn: "nan"}})
	require.NoError(t, err)
	w := set.Begin(start, 1)
	for at, line := range []string{"step 1", "step 2", "step 2", "step 1", "nan"} {
		w.Feed(0, []byte(line), start.Add(time.Duration(at)*time.Second))
	}
	for _, v := range w.Look(start.Add(14 * time.Second)) {
		require.Equal(t, map[Kind]time.Duration{Failed: 0, NotGrown: 13 * time.Second}[v.Kind], v.Quiet)
		require.Contains(t, []Kind{Failed, NotGrown}, v.Kind)
	}
}

// TestResetKeepsWhatLookHasNotReturned checks that a caller learns of a failed line, and of the end of a
// stall, although a Reset comes before Look.
func TestResetKeepsWhatLookHasNotReturned(t *testing.T) {
	set, err := Compile([]Rule{{Expect: step, Within: ten}, {FailOn: "nan"}})
	require.NoError(t, err)
	w := set.Begin(start, 1)
	require.Len(t, w.Look(start.Add(ten)), 1)
	w.Feed(0, []byte("step 1"), start.Add(ten))
	w.Feed(0, []byte("loss nan"), start.Add(ten))
	w.Reset(start.Add(ten))
	kinds := func(now time.Time) (all []Kind) {
		for _, v := range w.Look(now) {
			all = append(all, v.Kind)
		}
		return all
	}
	require.Equal(t, []Kind{Failed}, kinds(start.Add(ten)))
	require.True(t, w.Feed(0, []byte("step 2"), start.Add(11*time.Second)))
	require.Equal(t, []Kind{Moves}, kinds(start.Add(11*time.Second)))
	w.Reset(start.Add(12 * time.Second))
	w.Feed(0, []byte("step 3"), start.Add(13*time.Second))
	require.Empty(t, kinds(start.Add(13*time.Second)), "each change is returned once")
}

// TestARankThatEndsWithTheJob checks that a stall does not end because its rank is ended with the others.
func TestARankThatEndsWithTheJob(t *testing.T) {
	set, err := Compile([]Rule{{Expect: step, Within: ten, ByRank: true}})
	require.NoError(t, err)
	w := set.Begin(start, 2)
	require.Len(t, w.Look(start.Add(ten)), 1)
	require.False(t, w.Ended(0, false))
	require.False(t, w.Ended(1, false))
	require.Empty(t, w.Look(start.Add(time.Minute)))
}

func TestRankName(t *testing.T) {
	require.Equal(t, "rank 3", Verdict{Rank: 3}.RankName())
	require.Equal(t, "rank 2", Verdict{Rank: NoRank, From: 2, Line: "x"}.RankName())
	require.Empty(t, Verdict{Rank: NoRank}.RankName())
}

// TestPeak checks that the peak is the largest number of any rank, and survives Reset.
func TestPeak(t *testing.T) {
	set, err := Compile([]Rule{{FailOn: "nan"}, {Expect: "saved", Within: time.Hour}, {Expect: `epoch (\d+) step (\d+)`, Within: time.Hour, ByRank: true}})
	require.NoError(t, err)
	w := set.Begin(start, 2)
	peak, ok := w.Peak()
	require.True(t, ok)
	require.Empty(t, peak.Numbers)
	require.Equal(t, `expect 'epoch (\d+) step (\d+)'`, peak.Rule.Name())
	for _, line := range []string{"epoch 1 step 9", "epoch 2 step 1"} {
		w.Feed(0, []byte(line), start)
	}
	w.Feed(1, []byte("epoch 1 step 7"), start)
	w.Reset(start)
	w.Feed(1, []byte("epoch 1 step 8"), start)
	peak, _ = w.Peak()
	require.Equal(t, []float64{2, 1}, peak.Numbers)
	require.Equal(t, "2, 1", peak.Text)

	set, err = Compile([]Rule{{FailOn: `nan (\d+)`}, {Expect: "saved", Within: time.Hour}})
	require.NoError(t, err)
	_, ok = set.Begin(start, 2).Peak()
	require.False(t, ok, "no rule that expects lines captures a number")
}
