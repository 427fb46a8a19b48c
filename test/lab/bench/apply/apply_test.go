//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestObjects checks that all contenders run the same command on the same image, with no placeholder left.
func TestObjects(t *testing.T) {
	want := []any{"mpirun", "--allow-run-as-root", "--bind-to", "none", "sh", "-c", `echo "rank $OMPI_COMM_WORLD_RANK"`}
	for _, c := range contenders() {
		o, err := c.object("i:1", "j-1", 60)
		require.NoError(t, err)
		require.Equal(t, "j-1", o.GetName())
		require.Equal(t, space, o.GetNamespace())
		launcher, workers := []string{"spec", "launcher"}, []string{"spec", "workers"}
		if o.GetKind() == "MPIJob" {
			launcher, workers = []string{"spec", "mpiReplicaSpecs", "Launcher"}, []string{"spec", "mpiReplicaSpecs", "Worker", "replicas"}
			policy, _, _ := unstructured.NestedString(o.Object, "spec", "launcherCreationPolicy")
			require.Equal(t, c.policy, policy)
		}
		containers, found, err := unstructured.NestedSlice(o.Object, append(launcher, "template", "spec", "containers")...)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, want, containers[0].(map[string]any)["command"], c.name)
		require.Equal(t, "i:1", containers[0].(map[string]any)["image"])
		n, _, err := unstructured.NestedFieldNoCopy(o.Object, workers...)
		require.NoError(t, err)
		require.EqualValues(t, 60, n)
	}
}

func TestSamples(t *testing.T) {
	results := []result{{Contender: "muster", Workers: 2, FirstLine: 3}, {Contender: "mpi", Workers: 2, FirstLine: 9, Restarts: 1}, {Contender: "muster", Workers: 2, FirstLine: 4}}
	require.Equal(t, []float64{3, 4}, samples(results, "muster", 2, columns()[0].of))
	require.Equal(t, []float64{1}, samples(results, "mpi", 2, columns()[3].of))
}
