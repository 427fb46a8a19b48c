package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/exclude"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// steps are the changes that one Reconcile makes to the pods.
type steps struct {
	create []birth
	remove []*corev1.Pod
	record []exclude.Failure // pods to be replaced; deleted after they are in the status
	nodes  []exclude.Node    // nodes that have failed twice with these pods
	counts int32             // how many failures among these count against maxRestarts
	room   int               // how many more pods the status can record
	look   time.Duration     // reconcile again after this time; 0: only on events
	lost   string            // a worker's pod that is not created again
}

// birth is a pod to be created.
type birth struct {
	slot slot
	name string
}

// quietFor is how long the other pods have to end by themselves after the job has ended. It is also
// how long to wait for the end of the launcher after a worker has ended, because the launcher may
// have stopped that worker.
const quietFor = 15 * time.Second

// plan decides what to do about the pods of a job that should run.
func plan(job *v1alpha1.LaunchJob, places []place, surplus []*corev1.Pod, now time.Time) steps {
	s := steps{room: room(job, places)}
	s.discard(surplus...)
	waits := awaited(job, places)
	for i := range places {
		p := &places[i]
		switch {
		case runPolicy(job).Suspend && p.pod != nil:
			s.discard(p.pod)
		case runPolicy(job).Suspend:
		case (p.stage == missing || p.stage == forgotten || p.stage == lost) && !p.launcher() && spent(job, places[0]):
			s.lost = cmp.Or(s.lost, p.name)
		case p.stage == missing:
			s.create = append(s.create, birth{p.slot, p.name})
		case p.stage == forgotten:
			if s.note(job, p, now) {
				s.create = append(s.create, birth{p.slot, p.next()})
			}
		case p.stage == going:
			if p.why != "" && (p.launcher() || !spent(job, places[0])) {
				s.note(job, p, now) // recorded with its reason when it is replaced
			}
			s.again(time.Second)
		case p.stage == lost:
			s.replace(job, p, false, now)
		case p.stage == done && !p.launcher() && places[0].launcher():
			s.ended(job, p, places[0], now)
		case p.stage == done && !places[0].launcher():
			if p.code != 0 && waits(p) {
				s.ended(job, p, place{}, now)
			}
			if left := settleFor - now.Sub(p.ended); left > 0 { // no event ends this time
				s.again(left)
			}
		}
	}
	return s
}

// spent reports whether the launcher must fail when it loses a worker: it runs, it had all its
// workers, and no restart is left. A new worker would then wait for nothing. A restarted launcher
// still needs its workers, so the Launched condition must be younger than the launcher's container.
// A job with spares goes on without a spare, and only its launcher knows which workers are spares.
func spent(job *v1alpha1.LaunchJob, launcher place) bool {
	if !launcher.launcher() || launcher.stage != running || maxRestarts(job) > 0 || job.Spec.Elastic != nil || job.Spec.Spares > 0 {
		return false
	}
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.Launched)
	return c != nil && c.Status == metav1.ConditionTrue && !c.LastTransitionTime.Before(&launcher.status().State.Running.StartedAt)
}

// ended handles a worker whose container has ended before the launcher's, or a member that the others
// wait for. If the launcher's end is not known yet, or if the launcher is to be replaced, it waits.
// Otherwise it replaces the worker, as often as the user allows. Workers that fail together count once.
// A worker that its launcher has given up is replaced at once.
func (s *steps) ended(job *v1alpha1.LaunchJob, p *place, launcher place, now time.Time) {
	if p.code == names.ExitReplaced { // its launcher waits for another pod, and counts restarts itself
		s.replace(job, p, false, now)
		return
	}
	if left := quietFor - now.Sub(p.ended); left > 0 {
		s.again(left)
		return
	}
	if !s.allows(job, p) {
		return // its launcher reports what that means, and among members the job fails
	}
	if p.code == 0 && (launcher.pod == nil || launcher.pod.CreationTimestamp.Add(skew).Before(p.ended)) {
		return // stopped by this launcher, which is about to end or is gone
	}
	s.replace(job, p, p.code != 0 && !s.known(job, p), now)
}

// allows reports whether maxRestarts allows to replace a worker that has ended.
func (s *steps) allows(job *v1alpha1.LaunchJob, p *place) bool {
	return p.code == 0 || recorded(job, p.pod) || s.known(job, p) || job.Status.Replacements+s.counts < maxRestarts(job)
}

// replace replaces a pod. It first records the pod in the status and then deletes it, so a
// controller that is killed in between neither forgets it nor counts it twice.
func (s *steps) replace(job *v1alpha1.LaunchJob, p *place, counts bool, now time.Time) {
	if recorded(job, p.pod) {
		s.discard(p.pod)
		return
	}
	if s.note(job, p, now) && counts {
		s.counts++
		s.record[len(s.record)-1].FailedAt = metav1.NewTime(p.ended)
	}
}

// note records a pod that is replaced, unless the status has it already. If the status can hold no more
// pods, it returns false, and a later reconcile records the pod.
func (s *steps) note(job *v1alpha1.LaunchJob, p *place, now time.Time) bool {
	if recorded(job, p.pod) {
		return true
	}
	if s.room--; s.room < 0 {
		s.again(time.Second)
		return false
	}
	why := p.why
	switch {
	case why == "" && p.stage == done && p.code == names.ExitReplaced:
		why = "its launcher asked for another pod"
	case why == "" && p.stage == forgotten:
		why = "deleted, but its node does not confirm it"
	case why == "" && p.stage == done && !p.began():
		why = cmp.Or(rendezvous.Explain(p.pod, p.container, now).Brief, "its container never ran")
	case why == "":
		why = fmt.Sprintf("ended with %d", p.code)
	}
	end := exclude.End{Pod: p.pod, Code: p.code, Words: p.words}
	one := v1alpha1.Replaced{Pod: p.pod.Name, UID: string(p.pod.UID), Reason: why, Time: metav1.NewTime(now), Node: p.pod.Spec.NodeName, Cause: end.Cause()}
	s.record = append(s.record, exclude.Failure{Replaced: one, Created: p.pod.CreationTimestamp.Time})
	return true
}

// next returns the name of a replacement while a dead node holds the pod: pi-worker-3-r1.
func (p *place) next() string {
	n, _ := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(p.pod.Name, p.name), "-r"))
	return fmt.Sprintf("%s-r%d", p.name, n+1)
}

// discard deletes pods that are not being deleted already.
func (s *steps) discard(pods ...*corev1.Pod) {
	for _, p := range pods {
		if p.DeletionTimestamp == nil {
			s.remove = append(s.remove, p)
		}
	}
}

// again requests another reconcile.
func (s *steps) again(after time.Duration) {
	if s.look == 0 || after < s.look {
		s.look = max(after, time.Second/2)
	}
}

// clean decides what to do about the pods of a job that has ended.
func clean(job *v1alpha1.LaunchJob, places []place, surplus []*corev1.Pod, now time.Time) steps {
	var s steps
	policy := runPolicy(job).CleanPodPolicy       // "" means Running
	forced := job.Status.Reason == reasonDeadline // these pods do not learn that the job has ended
	left := quietFor - now.Sub(job.Status.CompletionTime.Time)
	s.discard(surplus...)
	for _, p := range places {
		switch {
		case p.pod == nil, policy != "All" && (policy == "None" && !forced || p.stays()):
		case policy != "All" && !forced && left > 0:
			s.again(left)
		default:
			s.discard(p.pod)
		}
	}
	return s
}

// stays reports whether a pod has ended by itself, so that it keeps its log. When the pod's own
// container has ended, the kubelet stops its sidecars (init containers that restart), which may
// take their whole grace period. It does not stop an ordinary container, which may run forever.
func (p place) stays() bool {
	beside := slices.ContainsFunc(p.pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name != p.main && c.State.Terminated == nil })
	return slices.Contains([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}, p.pod.Status.Phase) || p.stage == done && !beside
}
