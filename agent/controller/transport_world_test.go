//go:build !e2e

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestKeysAreMadeOnce kills the controller at each of its writes while the job starts. All pods have
// keys of one pair, which the status names. Only a killed controller makes a second Secret.
func TestKeysAreMadeOnce(t *testing.T) {
	start := func(t *testing.T, at int, after bool) (secrets, writes int) {
		s := aStory(t, at, after)
		require.NoError(t, s.truth.Create(t.Context(), keyed.job(s.key)))
		s.running(keyed)
		for _, o := range s.own() {
			if _, secret := o.(*corev1.Secret); secret {
				secrets++
			}
		}
		return secrets, s.m.writes
	}
	secrets, writes := start(t, 0, false)
	require.Equal(t, 1, secrets)
	require.Greater(t, writes, 7)
	for at := 1; at <= writes; at++ {
		for _, after := range []bool{false, true} {
			secrets, _ := start(t, at, after)
			require.LessOrEqual(t, secrets, 2, "killed at write %d, after it: %v", at, after)
		}
	}
}

// mounts has pods on a node get their volumes: a pod whose Secret is missing does not start, and its
// status does not say why.
func (s *story) mounts() {
	s.t.Helper()
	for _, p := range s.pods() {
		if p.Status.Phase == corev1.PodRunning {
			continue
		}
		tell := runs(s.clock.Now())
		if s.truth.Get(s.t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: secretOf(p)}, &corev1.Secret{}) != nil {
			tell = func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodPending
				if p.Status.StartTime == nil {
					p.Status.StartTime = &metav1.Time{Time: s.clock.Now()}
				}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "i", State: corev1.ContainerState{
					Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
			}
		}
		s.kubelet(tell, p.Name)
	}
}

// TestLostKeys deletes the Secret of a job that reaches its workers by network, and then a pod. The
// other pods go on with the keys that they have. The new pod gets new ones, so exec links it.
func TestLostKeys(t *testing.T) {
	for _, gone := range []string{"pi-worker-1", "pi-launcher"} {
		t.Run(gone, func(t *testing.T) {
			s := aStory(t, 0, false)
			job := keyed.job(s.key)
			job.Spec.Launcher.Template.Spec.NodeName, job.Spec.Roles[0].Template.Spec.NodeName = "node1", "node1"
			require.NoError(t, s.truth.Create(t.Context(), job))
			live := func() map[string]types.UID {
				for range 8 {
					s.settle()
					s.mounts()
					s.clock.SetTime(s.clock.Now().Add(2 * time.Second))
				}
				uids := map[string]types.UID{}
				for _, p := range s.pods() {
					require.Equal(t, corev1.PodRunning, p.Status.Phase, p.Name)
					uids[p.Name] = p.UID
				}
				require.Len(t, uids, 3)
				return uids
			}
			before, made := live(), s.job().Status.TokenSecret
			require.NoError(t, s.truth.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: made}}))
			require.Equal(t, before, live(), "running pods do not need the Secret")
			require.Equal(t, made, s.job().Status.TokenSecret)

			require.NoError(t, s.truth.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: gone}}, client.GracePeriodSeconds(0)))
			after := live()
			require.NotEqual(t, made, s.job().Status.TokenSecret)
			for _, p := range s.pods() {
				if p.Name == gone {
					require.Equal(t, s.job().Status.TokenSecret, secretOf(p))
					continue
				}
				require.Equal(t, before[p.Name], after[p.Name], p.Name)
				require.Equal(t, made, secretOf(p))
			}
		})
	}
}
