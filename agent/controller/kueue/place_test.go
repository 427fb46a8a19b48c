package kueue

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/exec/names"
)

func TestTopologyRequest(t *testing.T) {
	index := map[string]any{"podIndexLabel": names.LabelIndex}
	for name, row := range map[string]struct {
		notes map[string]string
		want  map[string]any
		err   string
	}{
		"none":          {nil, index, ""},
		"required":      {map[string]string{topologyRequired: "rack"}, map[string]any{"required": "rack"}, ""},
		"preferred":     {map[string]string{topologyPreferred: "rack"}, map[string]any{"preferred": "rack"}, ""},
		"unconstrained": {map[string]string{topologyFree: "true"}, map[string]any{"unconstrained": true}, ""},
		"no bool":       {map[string]string{topologyFree: "yes, please"}, nil, `annotation kueue.x-k8s.io/podset-unconstrained-topology is "yes, please": write "true" or "false"`},
		"slices":        {map[string]string{topologySlice: "host", topologySliceSize: "4"}, map[string]any{"podSetSliceRequiredTopology": "host", "podSetSliceSize": int64(4)}, ""},
		"no number":     {map[string]string{topologySlice: "host", topologySliceSize: "four"}, nil, "write a number"},
		"layers":        {map[string]string{topologySlices: `[{"topology":"rack","size":4}]`}, map[string]any{"podsetSliceRequiredTopologyConstraints": []any{map[string]any{"topology": "rack", "size": int64(4)}}}, ""},
		"no list":       {map[string]string{topologySlices: "rack"}, nil, "is not a list in JSON"},
		"a group":       {map[string]string{topologyRequired: "rack", topologyGroup: "all"}, map[string]any{"required": "rack", "podSetGroupName": "all"}, ""},
		"a lone group":  {map[string]string{topologyGroup: "all"}, index, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := roleOf("worker", 4, 0, row.notes)
			got, err := set.topology([]PodSet{set})
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				return
			}
			require.NoError(t, err)
			row.want["podIndexLabel"] = names.LabelIndex
			require.Equal(t, row.want, got)
		})
	}
	launcher := roleOf("launcher", 1, -1, nil)
	got, err := launcher.topology(nil)
	require.NoError(t, err)
	require.Empty(t, got, "a launcher has no index")
}

// TestOffset checks that index minus offset, plus what Kueue adds for the other role of a group, is the place in the
// assignment.
func TestOffset(t *testing.T) {
	group := map[string]string{topologyRequired: "rack", topologyGroup: "all"}
	for name, row := range map[string]struct {
		sets []PodSet
		want []int
	}{
		"one role":               {[]PodSet{roleOf("worker", 4, 0, nil)}, []int{0}},
		"the second role":        {[]PodSet{roleOf("ps", 2, 0, nil), roleOf("worker", 4, 2, nil)}, []int{0, 2}},
		"with its launcher":      {[]PodSet{roleOf("launcher", 1, -1, group), roleOf("worker", 4, 0, group)}, []int{-1, -1}},
		"two roles, the smaller": {[]PodSet{roleOf("worker", 4, 0, group), roleOf("ps", 2, 4, group)}, []int{-2, 4}},
		"one worker, a launcher": {[]PodSet{roleOf("launcher", 1, -1, group), roleOf("worker", 1, 0, group)}, []int{-1, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, set := range row.sets {
				require.Equal(t, row.want[i], set.offset(row.sets), set.Name)
			}
		})
	}
}

// assigned returns a Workload with this assignment of its worker, and these checks.
func assigned(t *testing.T, assignment map[string]any, checks ...any) *Workload {
	t.Helper()
	assignment["name"] = "worker"
	u := made(t, request(3), has, may).object
	require.NoError(t, unstructured.SetNestedSlice(u.Object, []any{assignment}, "status", "admission", "podSetAssignments"))
	require.NoError(t, unstructured.SetNestedSlice(u.Object, checks, "status", "admissionChecks"))
	w, err := Read(u)
	require.NoError(t, err)
	return w
}

func TestPut(t *testing.T) {
	sets := request(3).PodSets
	w := assigned(t, map[string]any{"flavors": map[string]any{"cpu": "a", "gpu": "a"}}, map[string]any{"name": "provision", "state": "Ready", "podSetUpdates": []any{
		map[string]any{"name": "worker", "nodeSelector": map[string]any{"node-group": "g1"}, "annotations": map[string]any{"autoscaler": "yes"}, "labels": map[string]any{"l": "v"}}}})
	p := w.Places(sets)["worker"]
	require.Equal(t, []string{"a"}, p.Flavors())
	require.False(t, p.Placed())
	flavor := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeLabels": map[string]any{"pool": "x"},
		"tolerations": []any{map[string]any{"key": "gpu", "operator": "Exists"}, map[string]any{"key": "gpu", "operator": "Exists"}}}}}
	require.NoError(t, p.Flavor(flavor))
	pod := &corev1.Pod{}
	pod.Labels, pod.Annotations = map[string]string{names.LabelKueueQueue: "gold"}, map[string]string{}
	pod.Spec.NodeSelector = map[string]string{"own": "1"}
	own := pod.Spec.NodeSelector
	p.Put(pod)
	require.Equal(t, map[string]string{"kueue.x-k8s.io/podset": "worker", "l": "v"}, pod.Labels, "Kueue would admit a pod with a queue a second time")
	require.Equal(t, map[string]string{"kueue.x-k8s.io/workload": "pi", "autoscaler": "yes"}, pod.Annotations)
	require.Equal(t, map[string]string{"own": "1", "pool": "x", "node-group": "g1"}, pod.Spec.NodeSelector)
	require.Len(t, own, 1, "the template's own map is not changed")
	require.Equal(t, []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}, pod.Spec.Tolerations)
	require.Empty(t, pod.Spec.SchedulingGates)

	template := sets[1].Template
	require.Empty(t, p.Conflict(template))
	template.Spec.NodeSelector = map[string]string{"pool": "y"}
	require.Equal(t, `nodeSelector pool is "y" in the template, and Kueue's admission wants "x"`, p.Conflict(template))
}

// TestPutWithTopology checks that a pod waits for its place, and has what Kueue finds it by.
func TestPutWithTopology(t *testing.T) {
	sets := []PodSet{roleOf("ps", 2, 0, nil), roleOf("worker", 3, 2, nil)}
	w := assigned(t, map[string]any{"topologyAssignment": map[string]any{"levels": []any{"kubernetes.io/hostname"}}})
	p := w.Places(sets)["worker"]
	require.True(t, p.Placed())
	pod := &corev1.Pod{}
	pod.Labels, pod.Annotations = map[string]string{}, map[string]string{}
	p.Put(pod)
	require.Equal(t, map[string]string{"kueue.x-k8s.io/workload": "pi", "kueue.x-k8s.io/podset-unconstrained-topology": "true",
		"kueue.x-k8s.io/pod-index-offset": "2", names.AnnotationKueueIndexLabel: names.LabelIndex}, pod.Annotations)
	require.Equal(t, []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}}, pod.Spec.SchedulingGates)
	sets[1].Template.Annotations = map[string]string{topologyRequired: "rack"}
	require.NotContains(t, w.Places(sets)["worker"].annotations, topologyFree, "the template asks for another topology")
}
