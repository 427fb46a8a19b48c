package exclude

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

const (
	// podsPerNode and mostNodes bound how many nodes a job may exclude: a cause that is no fault of a
	// node, such as a wrong check, must not empty the cluster.
	podsPerNode = 4
	mostNodes   = 8
	// sideBySide is how long after a failure of a node another one may be recorded that belongs to it.
	sideBySide = time.Minute
)

// Failure is a pod that is about to be replaced.
type Failure struct {
	v1alpha1.Replaced
	Created time.Time // when the pod was created
}

// Node is a node that has failed twice.
type Node struct {
	v1alpha1.ExcludedNode
	Refused string // why it is not excluded; "" if it is
}

// String describes the decision for an event.
func (n Node) String() string {
	if n.Refused != "" {
		return fmt.Sprintf("not excluding node %s, which failed twice (%s): %s", n.Node, n.Cause, n.Refused)
	}
	return fmt.Sprintf("excluding node %s for new pods: it failed twice (%s)", n.Node, n.Cause)
}

// Job is what decides about nodes besides the failures.
type Job struct {
	*v1alpha1.LaunchJob
	Pods   int  // that the job should have
	Placed bool // Kueue has chosen the nodes, so that a pod which avoids one of them would never start
}

// Nodes returns the nodes that have failed for the second time with one of the new failures. Only new
// failures count as the second one, so a list that the user has emptied stays empty until then.
func (j Job) Nodes(failures []Failure, now time.Time) (nodes []Node) {
	most, have := j.most(), len(j.Status.ExcludedNodes)
	if most == 0 {
		return nil
	}
	for _, f := range failures {
		is := func(name string) bool { return name == f.Node }
		if f.Cause == "" || !slices.ContainsFunc(j.Status.Replaced, f.again) ||
			slices.ContainsFunc(j.Status.ExcludedNodes, func(n v1alpha1.ExcludedNode) bool { return is(n.Node) }) ||
			slices.ContainsFunc(nodes, func(n Node) bool { return is(n.Node) }) {
			continue
		}
		n := Node{ExcludedNode: v1alpha1.ExcludedNode{Node: f.Node, Cause: f.Cause, Time: metav1.NewTime(now)}}
		switch {
		case j.Placed:
			n.Refused = "Kueue chooses the nodes of the job (topology-aware scheduling)"
		case have >= most:
			n.Refused = fmt.Sprintf("the limit is %d (restartPolicy.maxExcludedNodes)", most)
		default:
			have++
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// most returns how many nodes the job may exclude.
func (j Job) most() int {
	if p := j.Spec.RestartPolicy; p != nil && p.MaxExcludedNodes != nil {
		return int(*p.MaxExcludedNodes)
	}
	return min(max(j.Pods/podsPerNode, 1), mostNodes)
}

// again reports whether f is another failure than an older one of the same node. Recorded times are
// whole seconds.
func (f Failure) again(older v1alpha1.Replaced) bool {
	return older.Node == f.Node && older.Cause == f.Cause &&
		(!f.Created.Before(older.Time.Truncate(time.Second)) || f.Time.Sub(older.Time.Time) >= sideBySide)
}

// Added returns the nodes that are excluded now.
func Added(nodes []Node) (added []v1alpha1.ExcludedNode) {
	for _, n := range nodes {
		if n.Refused == "" {
			added = append(added, n.ExcludedNode)
		}
	}
	return added
}
