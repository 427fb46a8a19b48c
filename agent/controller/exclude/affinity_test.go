package exclude_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/exclude"
)

// TestAvoid checks that a pod avoids the nodes in each of the user's alternatives, and that nothing
// else of its affinity changes.
func TestAvoid(t *testing.T) {
	zone := func(name string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}
	}
	not := func(nodes ...string) (all []corev1.NodeSelectorRequirement) {
		for _, n := range nodes {
			all = append(all, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{n}})
		}
		return all
	}
	on := []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n9"}}}
	required := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	type term = corev1.NodeSelectorTerm
	preferred := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term{MatchExpressions: zone("a")}}}}
	both := required(term{MatchFields: not("n1", "n2")})
	both.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = preferred.PreferredDuringSchedulingIgnoredDuringExecution
	for name, row := range map[string]struct{ given, want *corev1.Affinity }{
		"none":             {nil, required(term{MatchFields: not("n1", "n2")})},
		"of pods":          {&corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}, &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}, NodeAffinity: required(term{MatchFields: not("n1", "n2")}).NodeAffinity}},
		"preferred":        {&corev1.Affinity{NodeAffinity: preferred.DeepCopy()}, both},
		"two alternatives": {required(term{MatchExpressions: zone("a")}, term{MatchExpressions: zone("b"), MatchFields: on}), required(term{MatchExpressions: zone("a"), MatchFields: not("n1", "n2")}, term{MatchExpressions: zone("b"), MatchFields: append(on[:1:1], not("n1", "n2")...)})},
		"an empty one":     {required(term{}, term{MatchExpressions: zone("a")}), required(term{}, term{MatchExpressions: zone("a"), MatchFields: not("n1", "n2")})},
	} {
		spec := &corev1.PodSpec{Affinity: row.given.DeepCopy(), NodeSelector: map[string]string{"gpu": "yes"}}
		exclude.Avoid(spec, nil)
		require.Equal(t, row.given, spec.Affinity, name)
		exclude.Avoid(spec, []v1alpha1.ExcludedNode{{Node: "n1"}, {Node: "n2"}})
		require.Equal(t, &corev1.PodSpec{Affinity: row.want, NodeSelector: map[string]string{"gpu": "yes"}}, spec, name)
	}
}
