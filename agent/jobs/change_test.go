package jobs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// TestGone checks that the wait for a deleted job lasts as long as its pods do, and not as long as a new job of
// the same name.
func TestGone(t *testing.T) {
	job := &v1alpha1.LaunchJob{ObjectMeta: metav1.ObjectMeta{Name: "talk", Namespace: "ns"}}
	s, objects, _, api := newWire(t, job)
	var old v1alpha1.LaunchJob
	objects.Get("ns", "talk", &old)
	of := func(i int, owner *v1alpha1.LaunchJob) *corev1.Pod {
		p := talker(i, corev1.ContainerState{})
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.Version().WithKind(v1alpha1.Kind))}
		return p
	}
	again := old.DeepCopy()
	again.UID = "another"
	s.Set(of(0, &old))
	s.Set(of(1, again))
	objects.Put(again)
	var said []string
	require.NoError(t, api.Gone(t.Context(), "talk", old.UID, func(format string, args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
		s.Delete("ns", "talk-worker-0")
	}))
	require.Equal(t, []string{"talk: pods still terminating: 1"}, said)
	require.NoError(t, api.Gone(t.Context(), "talk", old.UID, t.Logf))
}
