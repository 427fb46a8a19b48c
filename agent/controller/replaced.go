package controller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/exclude"
	"github.com/musterhq/muster/agent/controller/history"
)

// together is how long after the first failure that counts against maxRestarts other pods may fail
// without counting again. A launcher, too, restarts once for workers that fail together.
const together = time.Minute

func recorded(job *v1alpha1.LaunchJob, pod *corev1.Pod) bool {
	return slices.ContainsFunc(job.Status.Replaced, func(r v1alpha1.Replaced) bool { return r.UID == string(pod.UID) })
}

// room returns how many more pods status.replaced can hold. It keeps pods that still exist, because they
// would be recorded again otherwise.
func room(job *v1alpha1.LaunchJob, places []place) int {
	n := history.MostReplaced
	for _, p := range places {
		if p.pod != nil && recorded(job, p.pod) {
			n--
		}
	}
	return n
}

// known reports whether a pod failed together with one that counts already: in this reconcile, or in an
// earlier one. A pod that was created after that one was replaced is another failure.
func (s *steps) known(job *v1alpha1.LaunchJob, p *place) bool {
	near := func(r v1alpha1.Replaced) bool {
		return !r.FailedAt.IsZero() && p.ended.Sub(r.FailedAt.Time).Abs() < together
	}
	return slices.ContainsFunc(s.record, func(f exclude.Failure) bool { return near(f.Replaced) }) ||
		slices.ContainsFunc(job.Status.Replaced, func(r v1alpha1.Replaced) bool { return near(r) && p.pod.CreationTimestamp.Before(&r.Time) })
}
