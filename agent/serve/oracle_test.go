package serve

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestStatusMatchesTheOperator checks that our status for the same counts is that of
// training-operator's own code (test/lab/kubeflow/statuses): the same conditions in the same order,
// with the same reasons and messages. Our messages may have an addition at the end.
func TestStatusMatchesTheOperator(t *testing.T) {
	var lives []struct {
		Name, Kind, Restart string
		Replicas            map[string]int
		Steps               []struct {
			Counts     map[string]counts
			Conditions []condition
			Ended      bool
		}
	}
	text, err := os.ReadFile("testdata/operator.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &lives))
	require.Len(t, lives, 27)
	for _, l := range lives {
		t.Run(l.Name, func(t *testing.T) {
			k := aKind(t, l.Kind, "v1")
			o := anObject(t, k, l.Replicas)
			for name := range l.Replicas {
				require.NoError(t, unstructured.SetNestedField(o.Object, l.Restart, "spec", k.specs, name, "restartPolicy"))
			}
			var s status
			for i, step := range l.Steps {
				job := v1alpha1.LaunchJobStatus{Phase: v1alpha1.PhaseRunning}
				for name, c := range step.Counts {
					job.Roles = append(job.Roles, role(strings.ToLower(name), c.Active, c.Succeeded, c.Failed))
				}
				if step.Ended {
					end := at(i)
					job.CompletionTime, job.Phase = &end, v1alpha1.PhaseSucceeded
					if step.Conditions[len(step.Conditions)-1].Type == hasFailed {
						job.Phase, job.Message = v1alpha1.PhaseFailed, "rank 1 ended with 3"
					}
				}
				s = newStatus(k, o, s, job, at(i))
				require.Equal(t, created, s.Conditions[0].Type, "the operator sets this condition elsewhere")
				require.Len(t, s.Conditions[1:], len(step.Conditions))
				for j, theirs := range step.Conditions {
					ours := s.Conditions[j+1]
					require.Equal(t, theirs.Type+theirs.Status+theirs.Reason, ours.Type+ours.Status+ours.Reason)
					require.True(t, strings.HasPrefix(ours.Message, theirs.Message), "%q, %q", theirs.Message, ours.Message)
				}
				require.Equal(t, step.Ended, s.CompletionTime != nil)
			}
		})
	}
}
