package topology

import (
	"sync"
	"time"
)

const (
	// nodeAge is how long the labels of a node are used before they are read again. Topology labels
	// rarely change, and a worker keeps those with which it started.
	nodeAge = 5 * time.Minute
	// nodesMost is how many nodes are remembered.
	nodesMost = 10_000
	// refusedAge is how long nothing is read after the API server has refused it.
	refusedAge = 10 * time.Minute
)

// nodes remembers the labels of nodes for a short time, because workers of several jobs share a
// node. It is safe for concurrent use.
type nodes struct {
	mu      sync.Mutex
	all     map[string]node
	refused time.Time // when the API server last refused a read or a write
}

type node struct {
	labels map[string]string
	at     time.Time
}

// known returns the labels of a node if they were read in the last nodeAge, and not before since.
func (n *nodes) known(name string, now, since time.Time) (labels map[string]string, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one, known := n.all[name]
	return one.labels, known && now.Sub(one.at) < nodeAge && !one.at.Before(since)
}

// keep remembers the labels of a node. It forgets all nodes when it knows too many.
func (n *nodes) keep(name string, labels map[string]string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil || len(n.all) >= nodesMost {
		n.all = map[string]node{}
	}
	n.all[name] = node{labels, now}
}

// refuse notes that the API server has refused something. It reports whether that is the first time:
// a controller that serves only some namespaces never has the right.
func (n *nodes) refuse(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.refused.IsZero()
	n.refused = now
	return first
}

func (n *nodes) isRefused(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.refused.IsZero() && now.Sub(n.refused) < refusedAge
}
