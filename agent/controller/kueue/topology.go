package kueue

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/musterhq/muster/exec/names"
)

// Annotations of a pod template that say where Kueue places the pods, which it calls topology-aware scheduling. Users
// read these comments in docs/reference/labels.md.
const (
	// Annotation of a template: a label of nodes; all pods of the role go to nodes with the same value of it.
	topologyRequired = "kueue.x-k8s.io/podset-required-topology"
	// Annotation of a template: the same, if there is room.
	topologyPreferred = "kueue.x-k8s.io/podset-preferred-topology"
	// Annotation of a template: with "true", Kueue chooses the nodes without such a wish.
	topologyFree = "kueue.x-k8s.io/podset-unconstrained-topology"
	// Annotation of a template: the same as podset-required-topology, for each podset-slice-size pods.
	topologySlice = "kueue.x-k8s.io/podset-slice-required-topology"
	// Annotation of a template: how many pods podset-slice-required-topology keeps together.
	topologySliceSize = "kueue.x-k8s.io/podset-slice-size"
	// Annotation of a template: slices within slices, as Kueue documents them.
	topologySlices = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
	// Annotation of the templates of two roles: a name; both roles get the same place.
	topologyGroup = "kueue.x-k8s.io/podset-group-name"
)

// topology returns the topology request of the pod set. It has an index label even if there is no annotation,
// because a queue may place all of its jobs.
func (p PodSet) topology(all []PodSet) (map[string]any, error) {
	request, notes := map[string]any{}, p.Template.Annotations
	required, preferred := notes[topologyRequired], notes[topologyPreferred]
	switch {
	case required != "":
		request["required"] = required
	case preferred != "":
		request["preferred"] = preferred
	case notes[topologyFree] != "":
		free, err := strconv.ParseBool(notes[topologyFree])
		if err != nil {
			return nil, fmt.Errorf("annotation %s is %q: write \"true\" or \"false\"", topologyFree, notes[topologyFree])
		}
		request["unconstrained"] = free
	}
	switch {
	case notes[topologySlices] != "":
		var layers []any
		if err := json.Unmarshal([]byte(notes[topologySlices]), &layers); err != nil {
			return nil, fmt.Errorf("annotation %s is not a list in JSON: %w", topologySlices, err)
		}
		request["podsetSliceRequiredTopologyConstraints"] = whole(layers)
	case notes[topologySlice] != "" && notes[topologySliceSize] != "":
		size, err := strconv.ParseInt(notes[topologySliceSize], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("annotation %s is %q: write a number", topologySliceSize, notes[topologySliceSize])
		}
		request["podSetSliceRequiredTopology"], request["podSetSliceSize"] = notes[topologySlice], size
	}
	if group := notes[topologyGroup]; group != "" && required+preferred != "" {
		request["podSetGroupName"] = group
	}
	if p.First >= 0 {
		request["podIndexLabel"] = names.LabelIndex
	}
	return request, nil
}

// whole turns the numbers of parsed JSON into integers.
func whole(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	}
	return value
}

// offset returns the number that Kueue must take from the index of each pod to get its place in the assignment. A
// group of two pod sets has one assignment: Kueue itself puts the smaller set first.
func (p PodSet) offset(all []PodSet) int {
	offset := p.First
	group := p.Template.Annotations[topologyGroup]
	for _, other := range all {
		if group == "" || other.Name == p.Name || other.Template.Annotations[topologyGroup] != group {
			continue
		}
		first := other.Count < p.Count || other.Count == p.Count && before(all, other, p)
		if first {
			offset -= other.Count
		}
	}
	return offset
}

// before reports whether a is listed ahead of b.
func before(all []PodSet, a, b PodSet) bool {
	for _, p := range all {
		switch p.Name {
		case a.Name:
			return true
		case b.Name:
			return false
		}
	}
	return false
}
