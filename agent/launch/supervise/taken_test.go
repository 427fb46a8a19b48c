//go:build linux

package supervise

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/rendezvous"
)

// TestDisruptionOfAWorker checks that the run knows why a worker's pod is removed, if the pod's
// status has the reason.
func TestDisruptionOfAWorker(t *testing.T) {
	disrupted := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"unknown": {func(*corev1.Pod) {}, ""},
		"evicted through the API": {disrupted("EvictionByEvictionAPI", "Eviction API: evicting"),
			": will be removed from node n-1: Eviction API: evicting"},
		"preempted": {disrupted("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"),
			": will be removed from node n-1: default-scheduler: preempting to accommodate a higher priority pod"},
		"evicted by the kubelet": {func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
		}, ": evicted from node n-1: The node was low on resource: memory"},
		"deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, ": it is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n-1", Containers: []corev1.Container{{Name: "main"}}}}
			pod.Name, pod.UID, pod.Status.Phase = "w-1", "u", corev1.PodRunning
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			tc.change(pod)
			s := New(Config{Tally: tally.New(), Links: &fleet.Links{}, Workers: []rendezvous.Worker{{Name: "w-1", UID: "u", Node: "n-1", Container: "main"}},
				Seen: rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod}}})
			s.tally.Preempt("w-1")
			require.Equal(t, tc.want == "", s.unexplained(), "wait for the pod's status if it has no reason yet")
			require.Equal(t, strings.TrimPrefix(tc.want, ": "), s.GoneBy("w-1"))
		})
	}
}

// TestTheAPIServerFailsDuringADrain checks that a worker which is being taken away stays one while the
// API server does not answer.
func TestTheAPIServerFailsDuringADrain(t *testing.T) {
	for name, row := range map[string]struct {
		drained bool
	}{"drained": {true}, "not drained": {}} {
		t.Run(name, func(t *testing.T) {
			w, pod := member("0")
			if row.drained {
				drained(pod)
			}
			s := New(Config{Tally: tally.New(), Links: &fleet.Links{}, Voice: &console.Voice{Out: io.Discard}, Workers: []rendezvous.Worker{w}})
			pods := []*corev1.Pod{pod}
			s.onPods(rendezvous.Snapshot{At: time.Now(), Pods: pods}, time.Now())
			s.onPods(rendezvous.Snapshot{At: time.Now(), Pods: pods, Err: &rendezvous.APIError{}}, time.Now())
			require.Equal(t, row.drained, s.Leaving())
			s.NotePreempted()
			require.Equal(t, row.drained, s.tally.IsLeaving("w-0"))
		})
	}
}

// TestAllWorkersAreDrained checks that it takes no long look whether the status of each pod explains why
// its worker was told to stop.
func TestAllWorkersAreDrained(t *testing.T) {
	const many = 3000
	shot := rendezvous.Snapshot{At: time.Now()}
	var workers []rendezvous.Worker
	for i := range many {
		w, pod := member(strconv.Itoa(i))
		drained(pod)
		workers, shot.Pods = append(workers, w), append(shot.Pods, pod)
	}
	s := New(Config{Tally: tally.New(), Links: &fleet.Links{}, Workers: workers, Seen: shot})
	s.NotePreempted()
	began := time.Now()
	require.False(t, s.unexplained())
	require.Less(t, time.Since(began), 5*time.Second)
}
