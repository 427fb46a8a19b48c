package exclude_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/exclude"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// failed returns the record of a pod that failed on a node, minutes after noon.
func failed(node, cause string, minutes float64) v1alpha1.Replaced {
	at := noon.Add(time.Duration(minutes * float64(time.Minute)))
	return v1alpha1.Replaced{Node: node, Cause: cause, Time: metav1.NewTime(at.Truncate(time.Second))}
}

// fresh returns a failure at a time, of a pod that was created at another.
func fresh(node, cause string, created, minutes float64) exclude.Failure {
	return exclude.Failure{Replaced: failed(node, cause, minutes), Created: noon.Add(time.Duration(created * float64(time.Minute))).Truncate(time.Second)}
}

func TestNodes(t *testing.T) {
	type list = []v1alpha1.Replaced
	one := exclude.Job{Pods: 9}
	excluding := func(nodes ...string) func(*v1alpha1.LaunchJob) {
		return func(j *v1alpha1.LaunchJob) {
			for _, n := range nodes {
				j.Status.ExcludedNodes = append(j.Status.ExcludedNodes, v1alpha1.ExcludedNode{Node: n})
			}
		}
	}
	limit := func(n int32) func(*v1alpha1.LaunchJob) {
		return func(j *v1alpha1.LaunchJob) { j.Spec.RestartPolicy = &v1alpha1.RestartPolicy{MaxExcludedNodes: &n} }
	}
	kueue := exclude.Job{Pods: 9, Placed: true}
	for name, row := range map[string]struct {
		job   exclude.Job
		old   list
		fresh []exclude.Failure
		with  func(*v1alpha1.LaunchJob)
		want  []string
	}{
		"once":                           {one, nil, []exclude.Failure{fresh("n1", "preflight", -9, 0)}, nil, nil},
		"twice":                          {one, list{failed("n1", "preflight", 0)}, []exclude.Failure{fresh("n1", "preflight", 0.1, 0.2)}, nil, []string{"excluding node n1 for new pods: it failed twice (preflight)"}},
		"on two nodes":                   {one, list{failed("n1", "preflight", 0)}, []exclude.Failure{fresh("n2", "preflight", 1, 2)}, nil, nil},
		"in two ways":                    {one, list{failed("n1", "preflight", 0)}, []exclude.Failure{fresh("n1", "lost", 1, 2)}, nil, nil},
		"no fault of the node":           {one, list{failed("n1", "", 0)}, []exclude.Failure{fresh("n1", "", 1, 2)}, nil, nil},
		"two pods at once":               {one, nil, []exclude.Failure{fresh("n1", "lost", -9, 0), fresh("n1", "lost", -9, 0)}, nil, nil},
		"two pods one after another":     {one, list{failed("n1", "lost", 0)}, []exclude.Failure{fresh("n1", "lost", -9, 0.5)}, nil, nil},
		"two pods, a minute apart":       {one, list{failed("n1", "device", 0)}, []exclude.Failure{fresh("n1", "device", -9, 1)}, nil, []string{"excluding node n1 for new pods: it failed twice (device)"}},
		"both of two pods fail again":    {one, list{failed("n1", "lost", 0)}, []exclude.Failure{fresh("n1", "lost", 1, 2), fresh("n1", "lost", 1, 2)}, nil, []string{"excluding node n1 for new pods: it failed twice (lost)"}},
		"excluded already":               {one, list{failed("n1", "lost", 0)}, []exclude.Failure{fresh("n1", "lost", 1, 2)}, excluding("n1"), nil},
		"old failures alone":             {one, list{failed("n1", "lost", 0), failed("n1", "lost", 5)}, nil, nil, nil},
		"one more after the user's word": {one, list{failed("n1", "lost", 0), failed("n1", "lost", 5)}, []exclude.Failure{fresh("n1", "lost", 6, 7)}, nil, []string{"excluding node n1 for new pods: it failed twice (lost)"}},
		"the limit":                      {one, list{failed("n3", "lost", 0)}, []exclude.Failure{fresh("n3", "lost", 1, 2)}, excluding("n1", "n2"), []string{"not excluding node n3, which failed twice (lost): the limit is 2 (restartPolicy.maxExcludedNodes)"}},
		"the limit, in one step": {exclude.Job{Pods: 3}, list{failed("n1", "lost", 0), failed("n2", "lost", 0)}, []exclude.Failure{fresh("n1", "lost", 1, 2), fresh("n2", "lost", 1, 2)}, nil,
			[]string{"excluding node n1 for new pods: it failed twice (lost)", "not excluding node n2, which failed twice (lost): the limit is 1 (restartPolicy.maxExcludedNodes)"}},
		"the user's limit": {one, list{failed("n3", "lost", 0)}, []exclude.Failure{fresh("n3", "lost", 1, 2)}, func(j *v1alpha1.LaunchJob) { excluding("n1", "n2")(j); limit(3)(j) }, []string{"excluding node n3 for new pods: it failed twice (lost)"}},
		"turned off":       {one, list{failed("n1", "lost", 0)}, []exclude.Failure{fresh("n1", "lost", 1, 2)}, limit(0), nil},
		"Kueue":            {kueue, list{failed("n1", "lost", 0)}, []exclude.Failure{fresh("n1", "lost", 1, 2)}, nil, []string{"not excluding node n1, which failed twice (lost): Kueue chooses the nodes of the job (topology-aware scheduling)"}},
	} {
		job := row.job
		job.LaunchJob = &v1alpha1.LaunchJob{}
		job.Status.Replaced = row.old
		if row.with != nil {
			row.with(job.LaunchJob)
		}
		var got []string
		nodes := job.Nodes(row.fresh, noon)
		for _, n := range nodes {
			got = append(got, n.String())
		}
		require.Equal(t, row.want, got, name)
		for _, n := range exclude.Added(nodes) {
			require.Equal(t, metav1.NewTime(noon), n.Time, name)
		}
	}
}

// TestBound lets pods fail at random, with the worst luck: every failure blames a node. A job never
// excludes more nodes than one for every four pods, and the list never names a node twice.
func TestBound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	reached := map[int]bool{}
	for range 200 {
		job := exclude.Job{LaunchJob: &v1alpha1.LaunchJob{}, Pods: 1 + random.IntN(60)}
		bound := max(1, min(8, job.Pods/4))
		for minute := range 100 {
			var all []exclude.Failure
			for range random.IntN(4) {
				cause := []string{"lost", "preflight", "device"}[random.IntN(3)]
				all = append(all, fresh(fmt.Sprintf("n%d", random.IntN(12)), cause, float64(minute)-random.Float64(), float64(minute)))
			}
			job.Status.ExcludedNodes = append(job.Status.ExcludedNodes, exclude.Added(job.Nodes(all, noon))...)
			for _, f := range all {
				job.Status.Replaced = append(job.Status.Replaced, f.Replaced)
			}
			seen := map[string]bool{}
			for _, n := range job.Status.ExcludedNodes {
				require.False(t, seen[n.Node], "seed %d: %s twice", seed, n.Node)
				seen[n.Node] = true
			}
			require.LessOrEqual(t, len(seen), bound, "seed %d: %d pods", seed, job.Pods)
			reached[len(seen)] = true
		}
	}
	require.True(t, reached[1] && reached[8], "the bound was never reached: %v", reached)
}
