//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/musterhq/muster/exec/names"
)

// TestTrace checks what is read from the events of pods.
func TestTrace(t *testing.T) {
	tr := &trace{last: map[string]string{}, done: make(chan struct{})}
	pod := func(job, uid string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job + uid, UID: types.UID(uid), Labels: map[string]string{names.LabelJob: job}}, Status: corev1.PodStatus{Phase: phase}}
	}
	for _, e := range []watch.Event{
		{Type: watch.Added, Object: pod("one", "1", corev1.PodPending)},
		{Type: watch.Modified, Object: pod("one", "1", corev1.PodPending)}, // nothing that counts has changed
		{Type: watch.Modified, Object: pod("one", "1", corev1.PodRunning)},
		{Type: watch.Deleted, Object: pod("one", "1", corev1.PodRunning)},
		{Type: watch.Added, Object: pod("two", "2", corev1.PodPending)},
		{Type: watch.Added, Object: pod("two", "3", corev1.PodPending)},
	} {
		tr.take(e)
	}
	list := tr.since(0)
	require.Len(t, list, 5)
	require.Equal(t, 1, together(list), "one was gone before two began")
	require.Equal(t, 1, created(list, "one"))
	require.Equal(t, 2, created(list, "two"))
	require.Len(t, tr.since(3), 2)
	require.Equal(t, 0, placed(list, "two"))
	bound := pod("two", "3", corev1.PodPending)
	bound.Spec.NodeName = "node"
	tr.take(watch.Event{Type: watch.Modified, Object: bound})
	require.Equal(t, 1, placed(tr.since(0), "two"))

	tr.take(watch.Event{Type: watch.Added, Object: pod("one", "4", corev1.PodPending)})
	require.Equal(t, 2, together(tr.since(0)))
	close(tr.done)
	_, err := tr.now()
	require.ErrorContains(t, err, "has broken off")
}

func TestChanges(t *testing.T) {
	nodes := []string{"node-0-0-0", "node-0-0-0", "node-0-0-1", "node-0-1-0", "node-1-1-0"}
	whole := func(name string) string { return name }
	require.Equal(t, 3, changes(nodes, whole))
	require.Equal(t, 2, changes(nodes, upTo(3)))
	require.Equal(t, 1, changes(nodes, upTo(2)))
	require.Equal(t, 0, changes(nil, whole))
}
