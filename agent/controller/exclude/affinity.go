package exclude

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Avoid keeps a pod away from the nodes, whatever else its affinity requires. A requirement for a
// node's name takes one value, so each node needs its own.
func Avoid(spec *corev1.PodSpec, nodes []v1alpha1.ExcludedNode) {
	if len(nodes) == 0 {
		return
	}
	var names []corev1.NodeSelectorRequirement
	for _, n := range nodes {
		names = append(names, corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{n.Node}})
	}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: names}}}
		return
	}
	// A pod fits on a node that one of the terms matches. An empty term matches no node.
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) > 0 {
			terms[i].MatchFields = append(terms[i].MatchFields, names...)
		}
	}
}
