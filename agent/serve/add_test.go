package serve

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// silent is an API server that does not answer.
type silent struct{ meta.RESTMapper }

func (silent) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("connection refused")
}

// TestFound checks that a kind is served as soon as the cluster has it, once, and in one version.
func TestFound(t *testing.T) {
	f := &finder{has: map[string]bool{}}
	_, err := f.found(silent{})
	require.ErrorContains(t, err, "connection refused")

	mapper := meta.NewDefaultRESTMapper(nil)
	names := func() (list []string) {
		found, err := f.found(mapper)
		require.NoError(t, err)
		for _, k := range found {
			list = append(list, k.name+" "+k.version)
		}
		return list
	}
	require.Empty(t, names())
	for _, version := range []string{"v1", v2} {
		mapper.Add(schema.GroupVersionKind{Group: group, Version: version, Kind: "MPIJob"}, meta.RESTScopeNamespace)
	}
	mapper.Add(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "TFJob"}, meta.RESTScopeNamespace)
	require.Equal(t, []string{"TFJob v1", "MPIJob v2beta1"}, names())
	require.Empty(t, names())
	mapper.Add(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "JAXJob"}, meta.RESTScopeNamespace)
	require.Equal(t, []string{"JAXJob v1"}, names())
}

func TestMode(t *testing.T) {
	for word, want := range map[string]Mode{"true": On, "on": On, "false": Off, "": Off, "off": Off, "dry-run": DryRun} {
		var m Mode
		require.Equal(t, "off", m.String())
		require.NoError(t, m.Set(word))
		require.Equal(t, want, m)
		require.Equal(t, string(want), m.String())
	}
	var m Mode
	require.ErrorContains(t, m.Set("dry"), "want on, off or dry-run")
	require.NoError(t, Add(nil, Off, nil), "mode off must add nothing")
}
