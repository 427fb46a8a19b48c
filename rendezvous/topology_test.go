package rendezvous

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/test/suite/figure"
)

// levels are keys of three levels, from coarse to fine.
var levels = []string{"topology.kubernetes.io/zone", "network.topology.nvidia.com/block", "nvidia.com/gpu.clique"}

// onNode returns a worker on the node with this number, of 1,000 nodes in 5 zones, 50 blocks and 250
// cliques.
func onNode(index, node int) Worker {
	zone, block, clique := node%5, node%50, node%250
	return Worker{Name: fmt.Sprintf("w-%d", index), UID: fmt.Sprint(index), Index: index, Labelled: true, Node: fmt.Sprintf("n-%d", node),
		Located: fmt.Sprintf("%s=z%d,%s=b%d,%s=c%d", levels[0], zone, levels[1], block, levels[2], clique)}
}

// runs counts the runs of equal values of a key.
func runs(workers []Worker, key string) (n int) {
	for i, w := range workers {
		if i == 0 || w.Topology(key) != workers[i-1].Topology(key) {
			n++
		}
	}
	return n
}

// TestNeighborsShareABlock checks the order of 1,000 workers that a scheduler put on 1,000 nodes at
// random. The ranks of each zone, block and clique are contiguous, also after a worker was replaced.
func TestNeighborsShareABlock(t *testing.T) {
	together := figure.Series{Unit: "%", Reduce: "min"} // groups of each level whose ranks are contiguous
	defer func() { record(t, together) }()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 14))
		var workers []Worker
		for index, node := range random.Perm(1000) {
			workers = append(workers, onNode(index, node))
		}
		check := func(ranked []Worker) {
			require.Equal(t, 0, ranked[0].Index, "seed %d: worker 0 stays rank 0", seed)
			for i, want := range []int{5, 50, 250} {
				together.Samples = append(together.Samples, 100*float64(want)/float64(runs(ranked, levels[i])))
				require.Equal(t, want, runs(ranked, levels[i]), "seed %d: each %s is contiguous", seed, levels[i])
			}
			at := map[string]int{} // the smallest index of each group comes first in it
			for _, w := range ranked {
				last, met := at[w.Topology(levels[2])]
				require.True(t, !met || last < w.Index, "seed %d: by index within a clique", seed)
				at[w.Topology(levels[2])] = w.Index
			}
			random.Shuffle(len(workers), func(i, j int) { workers[i], workers[j] = workers[j], workers[i] })
			require.Equal(t, ranked, ByTopology(workers, TopologyKeys()), "seed %d: the same after a restart of the launcher", seed)
		}
		check(ByTopology(workers, TopologyKeys()))
		lost := random.IntN(1000)
		workers[lost] = onNode(workers[lost].Index, random.IntN(1000))
		check(ByTopology(workers, TopologyKeys()))
	}
}

// record keeps the figure of the order, if MUSTER_OUT is set.
func record(t *testing.T, together figure.Series) {
	t.Helper()
	if os.Getenv("MUSTER_OUT") == "" {
		return
	}
	dir, err := figure.Dir()
	require.NoError(t, err)
	const name = "rank order over labels of 1,000 nodes in 3 levels: neighbors in one block"
	_, err = figure.Keep(dir, "make test", "topology", map[string]figure.Series{name: together}, figure.Row{Name: name, Op: "==", Bar: 100, Log: name})
	require.NoError(t, err)
}

func TestByTopology(t *testing.T) {
	at := func(index int, located string) Worker {
		return Worker{Name: fmt.Sprintf("w-%d", index), Index: index, Located: located}
	}
	for name, tc := range map[string]struct {
		in   []Worker
		keys []string
		want []string
	}{
		"no labels":                  {[]Worker{at(2, ""), at(0, ""), at(1, "")}, levels, []string{"w-0", "w-1", "w-2"}},
		"groups by smallest index":   {[]Worker{at(0, "k=b"), at(1, "k=a"), at(2, "k=b"), at(3, "k=a")}, []string{"k"}, []string{"w-0", "w-2", "w-1", "w-3"}},
		"unknown is one group":       {[]Worker{at(0, "k=a"), at(1, ""), at(2, "k=a"), at(3, "x=y")}, []string{"k"}, []string{"w-0", "w-2", "w-1", "w-3"}},
		"fine within coarse":         {[]Worker{at(0, "z=1,b=1"), at(1, "z=2,b=1"), at(2, "z=1,b=2"), at(3, "z=1,b=1")}, []string{"z", "b"}, []string{"w-0", "w-3", "w-2", "w-1"}},
		"equal names, other parents": {[]Worker{at(0, "z=1,b=1"), at(1, "z=2,b=1"), at(2, "z=1,b=1")}, []string{"z", "b"}, []string{"w-0", "w-2", "w-1"}},
		"no keys":                    {[]Worker{at(1, "k=a"), at(0, "k=b")}, nil, []string{"w-0", "w-1"}},
		"no workers":                 {nil, levels, nil},
	} {
		require.Equal(t, tc.want, named(ByTopology(tc.in, tc.keys)), name)
	}
}

// TestTopologyOfAPod checks where the topology of a worker comes from. These are its pod's own labels,
// and what the controller has copied from the node.
func TestTopologyOfAPod(t *testing.T) {
	located := TopologyOf(map[string]string{levels[0]: "z1", levels[1]: "b1", "other": "x"}, levels)
	require.Equal(t, levels[0]+"=z1,"+levels[1]+"=b1", located)
	require.Empty(t, TopologyOf(map[string]string{"other": "x"}, levels))
	w := FromPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w-0", Labels: map[string]string{levels[0]: "mine", "rack": "r"},
		Annotations: map[string]string{names.AnnotationTopology: located}}}, "")
	require.Equal(t, "mine", w.Topology(levels[0]), "the pod's own label comes first")
	require.Equal(t, "b1", w.Topology(levels[1]))
	require.Equal(t, "r", w.Topology("rack"))
	require.Empty(t, w.Topology(levels[2]))
	require.Equal(t, "b1", w.Domain(levels), "the finest that is known")
	require.Empty(t, Worker{}.Domain(levels))
}

// TestPlaceGivenByOthers checks that the places that Kueue and JobSet give come before the number of
// a pod. Pods of several Jobs with the same number do not replace each other.
func TestPlaceGivenByOthers(t *testing.T) {
	pod := func(name string, labels, annotations map[string]string) *corev1.Pod {
		labels[names.LabelCompletionIndex] = "0"
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", Labels: labels, Annotations: annotations}}
	}
	for name, tc := range map[string]struct {
		labels, annotations map[string]string
		want                int
	}{
		"none":              {map[string]string{}, nil, 0},
		"JobSet":            {map[string]string{names.LabelJobSetIndex: "2"}, nil, 3},
		"Kueue":             {map[string]string{names.LabelKueueIndex: "0", names.LabelJobSetIndex: "2"}, nil, 1},
		"Kueue, own label":  {map[string]string{"my/index": "7"}, map[string]string{names.AnnotationKueueIndexLabel: "my/index"}, 8},
		"not a number":      {map[string]string{names.LabelJobSetIndex: "x"}, nil, 0},
		"a negative number": {map[string]string{names.LabelKueueIndex: "-1"}, nil, 0},
	} {
		require.Equal(t, tc.want, FromPod(pod("w", tc.labels, tc.annotations), "").Given, name)
	}
	var jobs []Worker
	board := New(3, 0)
	var shot Snapshot
	for i, name := range []string{"c", "a", "b"} {
		p := pod(name, map[string]string{names.LabelJobSetIndex: fmt.Sprint(3 - i)}, nil)
		p.UID = types.UID("u-" + name)
		jobs, shot.Pods = append(jobs, FromPod(p, "")), append(shot.Pods, p)
	}
	ranked, replaced := Rank(jobs)
	require.Equal(t, []string{"b", "a", "c"}, named(ranked))
	require.Empty(t, replaced)
	board.SetPods(shot)
	require.Equal(t, []string{"b", "a", "c"}, named(board.Workers()), "places may begin at 1: the launcher has 0")
}

// TestWaitForTopology checks that a run whose controller is still copying labels waits a moment, and
// that no other run does.
func TestWaitForTopology(t *testing.T) {
	for name, tc := range map[string]struct {
		by      bool
		located []string
		waits   bool
	}{
		"none has it":      {true, []string{"", ""}, false},
		"all have it":      {true, []string{"k=a", "k=b"}, false},
		"one lacks it":     {true, []string{"k=a", ""}, true},
		"order by index":   {false, []string{"k=a", ""}, false},
		"a single worker":  {true, []string{"k=a"}, false},
		"no worker at all": {true, nil, false},
	} {
		start := time.Unix(1000, 0)
		board := New(len(tc.located), 0)
		board.ByTopology = tc.by
		var shot Snapshot
		for i, located := range tc.located {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w-%d", i), UID: "u"}}
			p.UID = types.UID(p.Name)
			p.Spec.Containers = []corev1.Container{{Name: "main"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			if located != "" {
				p.Annotations = map[string]string{names.AnnotationTopology: located}
			}
			shot.Pods = append(shot.Pods, p)
		}
		board.SetPods(shot)
		for _, w := range board.Workers() {
			board.SetLink(w.UID, LinkState{Ready: true})
		}
		board.Tick(start)
		_, done := board.Done()
		require.Equal(t, !tc.waits, done, name)
		board.Tick(start.Add(locateWait))
		_, done = board.Done()
		require.True(t, done, name)
	}
}
