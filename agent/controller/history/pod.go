package history

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Pod is a pod of a job with the name of its main container.
type Pod struct {
	*corev1.Pod
	Container string
	Launcher  bool
}

// Scheduled returns when the pod got its node, or zero.
func (p Pod) Scheduled() time.Time {
	if p.Spec.NodeName == "" {
		return time.Time{}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time // its template names the node
}

// Started returns when the main container started, or zero.
func (p Pod) Started() time.Time {
	for _, s := range p.Status.ContainerStatuses {
		switch {
		case s.Name != p.Container:
		case s.State.Running != nil:
			return s.State.Running.StartedAt.Time
		case s.State.Terminated != nil:
			return s.State.Terminated.StartedAt.Time
		}
	}
	return time.Time{}
}

// created returns when the pod was created.
func (p Pod) created() time.Time { return p.CreationTimestamp.Time }

// reached returns when as many pods as wanted had reached a stage, and the pod that was the last of them. It
// returns false if fewer have reached it.
func reached(pods []Pod, wanted int, stage func(Pod) time.Time) (at time.Time, last Pod, ok bool) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return stage(p).IsZero() })
	if wanted < 1 || len(pods) < wanted {
		return time.Time{}, Pod{}, false
	}
	slices.SortFunc(pods, func(a, b Pod) int { return cmp.Or(stage(a).Compare(stage(b)), cmp.Compare(a.Name, b.Name)) })
	last = pods[wanted-1]
	return stage(last), last, true
}

// Told returns when a pod was told to stop from outside, by the clock of the API server. The end of its container after
// that does not count: a program may save its work and exit with 0, and so does a worker in which nothing runs. Only a
// launcher's 0 is always a success.
func Told(pod *corev1.Pod) (at time.Time) {
	if pod.DeletionTimestamp != nil {
		at = Deleted(pod)
	}
	for _, c := range pod.Status.Conditions {
		if since := c.LastTransitionTime.Time; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && (at.IsZero() || since.Before(at)) {
			at = since
		}
	}
	return at
}

// Failed returns when a pod failed whose own container never ran. The API server does not record
// that time, so this is the latest one known: the same in every reconcile, and possibly too early.
func Failed(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	later := func(t metav1.Time) {
		if t.After(at) {
			at = t.Time
		}
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if end := s.State.Terminated; end != nil {
			later(end.FinishedAt)
		}
	}
	for _, c := range pod.Status.Conditions {
		later(c.LastTransitionTime)
	}
	return at
}

// Deleted returns when the deletion of a pod was requested.
func Deleted(pod *corev1.Pod) time.Time {
	return pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
}
