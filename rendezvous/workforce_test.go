package rendezvous_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/rendezvous"
)

// workersNamed parses "2 4'": worker w-2, and the replacement of w-4.
func workersNamed(text string) []rendezvous.Worker {
	var list []rendezvous.Worker
	for word := range strings.FieldsSeq(text) {
		var index int
		_, _ = fmt.Sscanf(word, "%d", &index)
		name := fmt.Sprintf("w-%d", index)
		list = append(list, rendezvous.Worker{Name: name, UID: "u-" + word, Index: index, Labelled: true})
	}
	return list
}

func lossesOf(text string, gone bool) []rendezvous.Loss {
	var list []rendezvous.Loss
	for _, w := range workersNamed(text) {
		list = append(list, rendezvous.Loss{Worker: w, Gone: gone, Leaving: !gone})
	}
	return list
}

func told(c rendezvous.Change) string {
	var words []string
	for _, w := range c.Joined {
		words = append(words, "+"+strings.TrimPrefix(w.UID, "u-"))
	}
	for _, w := range c.Back {
		words = append(words, "="+strings.TrimPrefix(w.UID, "u-"))
	}
	for _, l := range c.Leaving {
		words = append(words, "~"+strings.TrimPrefix(l.Worker.UID, "u-"))
	}
	for _, l := range c.Gone {
		words = append(words, "-"+strings.TrimPrefix(l.Worker.UID, "u-"))
	}
	return strings.Join(words, " ")
}

func present(m rendezvous.Workforce) string {
	var words []string
	for _, w := range m.Present() {
		words = append(words, strings.TrimPrefix(w.UID, "u-"))
	}
	return strings.Join(words, " ")
}

func TestWorkforce(t *testing.T) {
	type look struct {
		ready, leaving, gone string // input
		change, present      string // result
	}
	for name, looks := range map[string][]look{
		"numeric order": {
			{ready: "10 2 0", change: "+0 +2 +10", present: "0 2 10"},
			{ready: "10 2 0", present: "0 2 10"},
		},
		"a worker joins in a gap": {
			{ready: "0 4", change: "+0 +4", present: "0 4"},
			{ready: "0 2 4", change: "+2", present: "0 2 4"},
		},
		"a link that is down is not a loss": {
			{ready: "0 1", change: "+0 +1", present: "0 1"},
			{ready: "0", present: "0 1"},
			{ready: "", present: "0 1"},
		},
		"a worker is lost": {
			{ready: "0 1 2", change: "+0 +1 +2", present: "0 1 2"},
			{ready: "0 2", gone: "1", change: "-1", present: "0 2"},
			{ready: "0 2", gone: "1", present: "0 2"}, // reported once
		},
		"a worker drains, then is lost": {
			{ready: "0 1", change: "+0 +1", present: "0 1"},
			{ready: "0 1", leaving: "1", change: "~1", present: "0"},
			{ready: "0 1", leaving: "1", present: "0"},
			{ready: "0", gone: "1", change: "-1", present: "0"},
		},
		"a canceled preemption": {
			{ready: "0 1", change: "+0 +1", present: "0 1"},
			{ready: "0 1", leaving: "1", change: "~1", present: "0"},
			{ready: "0 1", change: "=1", present: "0 1"},
			{ready: "0", gone: "1", change: "-1", present: "0"},
		},
		"replaced under the same name": {
			{ready: "0 1", change: "+0 +1", present: "0 1"},
			{ready: "0 1'", gone: "1", change: "+1' -1", present: "0 1'"},
		},
		"replaced before the loss was seen": {
			{ready: "0 1", change: "+0 +1", present: "0 1"},
			{ready: "0 1'", change: "+1' -1", present: "0 1'"},
		},
		"replaced while the old worker drains": {
			{ready: "0 1", change: "+0 +1", present: "0 1"},
			{ready: "0 1", leaving: "1", change: "~1", present: "0"},
			{ready: "0 1'", leaving: "1", change: "+1' -1", present: "0 1'"},
		},
		"at the maximum, then below": {
			{ready: "0 1 2 3", change: "+0 +1 +2", present: "0 1 2"},
			{ready: "0 1 2 3", present: "0 1 2"},
			{ready: "0 2 3", gone: "1", change: "+3 -1", present: "0 2 3"},
		},
		"the first workers keep their places": {
			{ready: "1 2 3", change: "+1 +2 +3", present: "1 2 3"},
			{ready: "0 1 2 3", present: "1 2 3"},
		},
	} {
		m := rendezvous.Workforce{Least: 2, Most: 3}
		for i, l := range looks {
			c := m.Look(workersNamed(l.ready), append(lossesOf(l.leaving, false), lossesOf(l.gone, true)...))
			require.Equal(t, l.change, told(c), "%s, look %d", name, i)
			require.Equal(t, l.change == "", c.None(), "%s, look %d", name, i)
			require.Equal(t, l.present, present(m), "%s, look %d", name, i)
			require.Equal(t, max(0, 2-len(strings.Fields(l.present))), m.Short(), "%s, look %d", name, i)
		}
	}
}

// TestLeavingByStatus checks how the status of pods becomes the input of a Workforce.
func TestLeavingByStatus(t *testing.T) {
	running := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("u-" + name)},
			Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "worker"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}
	}
	deleted := running("w-1")
	deleted.DeletionTimestamp = &metav1.Time{Time: noon.Add(20 * time.Second)}
	preempted := running("w-2")
	preempted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}}
	unready := running("w-3")
	unready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	ended := running("w-4")
	ended.Status.Phase = corev1.PodFailed
	ended.DeletionTimestamp = deleted.DeletionTimestamp

	var started []rendezvous.Worker
	pods := []*corev1.Pod{running("w-0"), deleted, preempted, unready, ended}
	for _, pod := range pods {
		started = append(started, rendezvous.FromPod(pod, "worker"))
	}
	started = append(started, rendezvous.Worker{Name: "w-5", UID: "u-w-5"})
	got := map[string]string{}
	for _, l := range rendezvous.Lost(started, rendezvous.Snapshot{Pods: pods, At: noon}, noon) {
		got[l.Worker.Name] = fmt.Sprintf("gone=%v leaving=%v", l.Gone, l.Leaving)
	}
	require.Equal(t, map[string]string{
		"w-1": "gone=false leaving=true", "w-2": "gone=false leaving=true", "w-3": "gone=false leaving=false",
		"w-4": "gone=true leaving=false", "w-5": "gone=true leaving=false",
	}, got)
}
