//go:build linux

package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

// TestMessageNamesTheDisruption checks that the message about a process that ended with its worker
// says why the worker's pod is removed, if the pod's status has the reason.
func TestMessageNamesTheDisruption(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"unknown": {func(*corev1.Pod) {}, ""},
		"deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, ": it is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n-1", Containers: []corev1.Container{{Name: "main"}}}}
			pod.Name, pod.UID, pod.Status.Phase = "w-1", "u", corev1.PodRunning
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			tc.change(pod)
			counts, links := tally.New(), &fleet.Links{}
			counts.Preempt("w-1")
			s := supervise.New(supervise.Config{Tally: counts, Links: links, Workers: []rendezvous.Worker{{Name: "w-1", UID: "u", Node: "n-1", Container: "main"}},
				Pods: make(chan rendezvous.Snapshot), Seen: rendezvous.Snapshot{At: time.Now(), Pods: []*corev1.Pod{pod}}})
			r := &runner{tally: counts, links: links, means: means{voice: &console.Voice{}}}
			a := &attempt{watcher: s}
			r.judgeCrew(a, group.Result{Code: 143, Stopped: true, Cause: &group.Failure{Label: "rank 1", Worker: "w-1", End: group.End{Exit: wire.ExitRecord{Code: 143, Reason: wire.ReasonPreempted}}}})
			require.Equal(t, verdict.Verdict{Code: 143, Why: "rank 1 on w-1 was ended because its worker was told to stop from outside" + tc.want}, a.verdict)
			require.Equal(t, tc.want == "", a.said, "the reason is printed if it is new")
			require.Equal(t, a.verdict.Why, a.end().Why)
		})
	}
}
