package rendezvous

import (
	"slices"
	"strings"
	"time"
)

// locateWait is how long a run waits for the topology of its last workers, if it knows that of
// others.
const locateWait = 3 * time.Second

// TopologyKeys returns the default node labels for the order of ranks, from coarse to fine: region
// and zone, the switches of three generations of NVIDIA's topograph, and the NVLink domain. A cluster
// has the labels of one generation. A key that no node has changes nothing.
func TopologyKeys() []string {
	return []string{
		"topology.kubernetes.io/region",
		"topology.kubernetes.io/zone",
		"network.topology.nvidia.com/datacenter",
		"network.topology.nvidia.com/core",
		"network.topology.nvidia.com/spine",
		"network.topology.nvidia.com/block",
		"network.topology.nvidia.com/leaf",
		"fabric.topograph.run/tier-2",
		"fabric.topograph.run/tier-1",
		"fabric.topograph.run/tier-0",
		"network.topology.nvidia.com/accelerator",
		"accelerator.topograph.run/domain",
		"accelerator.topograph.run/sub-domain",
		"nvidia.com/gpu.clique", // ClusterUUID.CliqueID, by GPU feature discovery
	}
}

// ByTopology orders workers for their ranks, so that neighbors on the network have neighboring
// ranks. Workers are grouped by the value of the first key, within it by the second, and so on. A
// group comes where its smallest index comes, so worker 0 stays rank 0. Workers of the last group
// are ordered by index. Workers without a value for a key form one group.
//
// Without labels the order is that of [Rank]. The argument is not changed.
func ByTopology(workers []Worker, keys []string) []Worker {
	ordered := slices.Clone(workers)
	slices.SortFunc(ordered, byIndex)
	nest(ordered, keys)
	return ordered
}

// SeatsByTopology is ByTopology for workers in the order of their [Seats], which replaces that of
// their indices: a spare has the place of the worker that it replaced.
func SeatsByTopology(workers []Worker, keys []string) []Worker {
	ordered := slices.Clone(workers)
	nest(ordered, keys)
	return ordered
}

// nest groups workers. A group comes where its first worker comes.
func nest(workers []Worker, keys []string) {
	for len(keys) > 0 && isOneGroup(workers, keys[0]) {
		keys = keys[1:]
	}
	if len(keys) == 0 {
		return
	}
	place := map[string]int{}
	var groups [][]Worker // by the first worker in each
	for _, w := range workers {
		value := w.Topology(keys[0])
		i, met := place[value]
		if !met {
			i, groups = len(groups), append(groups, nil)
			place[value] = i
		}
		groups[i] = append(groups[i], w)
	}
	at := 0
	for _, group := range groups {
		nest(group, keys[1:])
		at += copy(workers[at:], group)
	}
}

// isOneGroup reports whether all workers have the same value for a key.
func isOneGroup(workers []Worker, key string) bool {
	for i := range workers {
		if workers[i].Topology(key) != workers[0].Topology(key) {
			return false
		}
	}
	return true
}

// Topology returns the value of a topology key for the worker's node, or "" if it is not known. A
// label of the pod comes before the annotation that the controller sets.
func (w Worker) Topology(key string) string {
	if value := w.Labels[key]; value != "" {
		return value
	}
	for part := range strings.SplitSeq(w.Located, ",") {
		if name, value, _ := strings.Cut(part, "="); name == key {
			return value
		}
	}
	return ""
}

// Domain returns the value of the finest key that the worker has, or "".
func (w Worker) Domain(keys []string) string {
	for _, key := range slices.Backward(keys) {
		if value := w.Topology(key); value != "" {
			return value
		}
	}
	return ""
}

// TopologyOf returns the value of names.AnnotationTopology for the labels of a node, or "" if it has
// none of the keys.
func TopologyOf(labels map[string]string, keys []string) string {
	var parts []string
	for _, key := range keys {
		if value := labels[key]; value != "" {
			parts = append(parts, key+"="+value)
		}
	}
	return strings.Join(parts, ",")
}

// located reports whether the topology of the ready workers is known as far as it will be. The
// controller writes it on one pod after the other. So if some pods have it and others do not, the
// others get [locateWait].
func (b *Board) located() bool {
	have, lack := 0, 0
	for _, w := range b.ranked {
		switch {
		case !b.ready(w):
		case w.Located != "":
			have++
		default:
			lack++
		}
	}
	return !b.ByTopology || have == 0 || lack == 0 || b.arrivals.now.Sub(b.arrivals.at) >= locateWait
}
