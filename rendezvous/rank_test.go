package rendezvous

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/exec/names"
)

func TestIndexOf(t *testing.T) {
	for _, c := range []struct {
		name     string
		labels   map[string]string
		index    int
		labelled bool
	}{
		{"w-3", nil, 3, false},
		{"w-0012", nil, 12, false},
		{"worker7", nil, 7, false},
		{"worker", nil, -1, false},
		{"123", nil, 123, false},
		{"w-99999999999999999999", nil, -1, false},
		{"pi-0-x7k2p", map[string]string{names.LabelCompletionIndex: "0"}, 0, true},
		{"sts-4", map[string]string{names.LabelPodIndex: "4"}, 4, true},
		{"tf-worker-2", map[string]string{names.LabelReplicaIndex: "2"}, 2, true},
		{"w-3-r1", map[string]string{names.LabelIndex: "3", names.LabelPodIndex: "9"}, 3, true},
		{"w-5", map[string]string{names.LabelIndex: "no", names.LabelCompletionIndex: "-1"}, 5, false},
		{"both", map[string]string{names.LabelReplicaIndex: "1", names.LabelPodIndex: "2", names.LabelCompletionIndex: "3"}, 3, true},
	} {
		index, labelled := indexOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: c.labels}})
		require.Equal(t, c.index, index, c.name)
		require.Equal(t, c.labelled, labelled, c.name)
	}
}

func named(workers []Worker) (all []string) {
	for _, w := range workers {
		all = append(all, w.Name)
	}
	return all
}

func TestRank(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, c := range []struct {
		what             string
		in               []Worker
		ranked, replaced []string
	}{
		{"numeric order, not by letters", []Worker{{Name: "w-10", Index: 10}, {Name: "w-9", Index: 9}, {Name: "w-0", Index: 0}}, []string{"w-0", "w-9", "w-10"}, nil},
		{"no index last, by name", []Worker{{Name: "b", Index: -1}, {Name: "a", Index: -1}, {Name: "w-1", Index: 1}}, []string{"w-1", "a", "b"}, nil},
		{"ties by name", []Worker{{Name: "y-0"}, {Name: "x-0"}, {Name: "x-1", Index: 1}}, []string{"x-0", "y-0", "x-1"}, nil},
		{"newest pod wins", []Worker{
			{Name: "a", UID: "a", Labelled: true, Created: at(1)}, {Name: "b", UID: "b", Labelled: true, Created: at(2)},
		}, []string{"b"}, []string{"a"}},
		{"a live pod wins over newer ones", []Worker{
			{Name: "a", UID: "a", Labelled: true, Created: at(1)}, {Name: "b", UID: "b", Labelled: true, Created: at(2), Terminating: true},
			{Name: "c", UID: "c", Labelled: true, Created: at(3), Finished: true},
		}, []string{"a"}, []string{"b", "c"}},
		{"two names may have the same number", []Worker{{Name: "a-1", UID: "a", Index: 1}, {Name: "b-1", UID: "b", Index: 1, Labelled: true}}, []string{"a-1", "b-1"}, nil},
		{"no workers", nil, nil, nil},
	} {
		ranked, replaced := Rank(c.in)
		require.Equal(t, c.ranked, named(ranked), c.what)
		require.Equal(t, c.replaced, named(replaced), c.what)
	}
}

// FuzzRank checks that the order is the same after a restart of the launcher, in whatever order the
// API server lists the pods.
func FuzzRank(f *testing.F) {
	f.Add("w-0 w-10 w-9 x", "0,,1,1", uint64(1))
	f.Add("a b c d e", "3,3,2,2,1", uint64(2))
	f.Fuzz(func(t *testing.T, podNames, indexes string, seed uint64) {
		var workers []Worker
		labels := strings.Split(indexes, ",")
		for i, name := range strings.Fields(podNames) {
			w := Worker{Name: name, UID: fmt.Sprint(i), Index: trailingNumber(name), Created: time.Unix(int64(i/2), 0), Terminating: i%3 == 2}
			if n, err := strconv.Atoi(labels[i%len(labels)]); err == nil && n >= 0 {
				w.Index, w.Labelled = n, true
			}
			workers = append(workers, w)
		}
		before := fmt.Sprint(workers)
		ranked, replaced := Rank(workers)
		require.Equal(t, before, fmt.Sprint(workers), "Rank must not change its argument")
		require.Len(t, workers, len(ranked)+len(replaced))
		for i := 1; i < len(ranked); i++ {
			a, b := ranked[i-1], ranked[i]
			require.True(t, a.Index >= 0 || b.Index < 0, "workers without an index come last")
			require.True(t, b.Index < 0 || a.Index <= b.Index)
			require.False(t, a.Labelled && b.Labelled && a.Index == b.Index)
		}
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
		again, _ := Rank(workers)
		require.Equal(t, ranked, again, "shuffled with seed %d", seed)
	})
}

// BenchmarkRank ranks 10,000 pods in random order.
func BenchmarkRank(b *testing.B) {
	var workers []Worker
	for _, i := range rand.New(rand.NewPCG(1, 0)).Perm(10_000) {
		workers = append(workers, Worker{Name: fmt.Sprintf("w-%d", i), UID: fmt.Sprint(i), Index: i, Labelled: i%2 == 0})
	}
	b.ReportAllocs()
	for b.Loop() {
		ranked, _ := Rank(workers)
		require.Len(b, ranked, 10_000)
	}
}

func FuzzTrailingNumber(f *testing.F) {
	for _, s := range []string{"", "w-0", "007", "9999999999", "w-２", "é1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n := trailingNumber(name)
		require.GreaterOrEqual(t, n, -1)
		if n >= 0 {
			require.True(t, strings.HasSuffix(name, strconv.Itoa(n)), "%q ends with %d", name, n)
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add("a\n\x1b[31mb\x1b[0m\tc", 5)
	f.Add("größe größe", 6)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 4 || n > 1000 {
			return
		}
		got := clip(text, n)
		require.LessOrEqual(t, len(got), n)
		require.NotContains(t, got, "\x1b")
		require.NotContains(t, got, "\n")
	})
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Second: "0s", 41 * time.Second: "41s", 2 * time.Minute: "2m", 130 * time.Second: "2m10s", time.Hour: "1h", 65 * time.Minute: "1h5m",
	} {
		require.Equal(t, want, short(d))
	}
	require.Equal(t, "0-2, 5, 7-8", ranges([]int{0, 1, 2, 5, 7, 8}))
	require.Equal(t, "", ranges(nil))
	require.Equal(t, "größ...", clip("größengrößen", 9))
}
