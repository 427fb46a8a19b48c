package history

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
