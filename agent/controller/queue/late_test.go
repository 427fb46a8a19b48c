package queue

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var workloadKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}

// TestLateWatch checks that the watch begins with the first job, once, and again for another version of Kueue.
func TestLateWatch(t *testing.T) {
	require.False(t, (*Late)(nil).Watch(workloadKind))
	var begun []string
	seen, refused := false, errors.New("no answer")
	w := &Late{start: func(kind schema.GroupVersionKind) (func() bool, error) {
		begun = append(begun, kind.Version)
		return func() bool { return seen }, refused
	}}
	require.False(t, w.Watch(workloadKind), "it cannot begin")
	refused = nil
	require.False(t, w.Watch(workloadKind), "it has begun, and knows nothing yet")
	seen = true
	require.True(t, w.Watch(workloadKind))
	old := workloadKind
	old.Version = "v1beta1"
	require.True(t, w.Watch(old))
	require.Equal(t, []string{"v1beta2", "v1beta2", "v1beta1"}, begun)
}
