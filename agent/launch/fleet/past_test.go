//go:build linux

package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// TestPast checks that a failed pod of a lost worker does not affect the wait for its replacement.
func TestPast(t *testing.T) {
	workers := []rendezvous.Worker{{Name: "w-0", UID: "uid-0", Container: "main"}, {Name: "w-1", UID: "uid-1", Container: "main"}, {Name: "w-2", UID: "uid-2", Container: "main"}}
	pod := func(w rendezvous.Worker, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: w.Name, UID: types.UID(w.UID)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
		change(p)
		return p
	}
	over := &Past{Pods: map[string]bool{"uid-1": true}}
	w := &waiter{board: rendezvous.New(2, 0), past: over}
	failed := pod(workers[1], func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.setPods(rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod(workers[0], func(*corev1.Pod) {}), failed}})
	require.Len(t, w.board.Workers(), 1)
	failed = pod(workers[2], func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	w.setPods(rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod(workers[0], func(*corev1.Pod) {}), failed}})
	require.Len(t, w.board.Workers(), 2, "the failure of another worker counts")
	require.True(t, (&Past{instances: map[string]bool{"i": true}}).going(wire.WelcomeRecord{Instance: "i"}))
}
