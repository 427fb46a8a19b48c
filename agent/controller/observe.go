package controller

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// stage is how far a pod has come.
type stage int

const (
	missing stage = iota // no such pod
	starting
	running   // the slot's own container runs
	done      // it has ended, whatever the sidecars do
	lost      // something took the pod away: eviction, preemption, its node
	going     // it is being deleted
	forgotten // it is being deleted, and its node does not confirm it
)

// place is a slot with the pod that is in it.
type place struct {
	slot
	pod    *corev1.Pod // the newest; nil: missing
	stage  stage
	ready  bool
	code   int32
	words  string                   // the container's last words
	before []v1alpha1.FailedAttempt // what the words tell of attempts before
	ended  time.Time                // of the container
	why    string                   // a pod was taken away
	cause  string                   // why the container could not be started; "" if it was
}

// heldAfter is how long a pod may be late with its end before another name is
// taken for its replacement; lostFor the same for one whose node is known not to
// answer.
const (
	heldAfter = 5 * time.Second
	lostFor   = 3 * time.Second
)

// observe puts pods into the slots of a job, and gives those that have none:
// of roles that became smaller, and of earlier attempts.
func observe(slots []slot, pods []*corev1.Pod, attempt int32, now time.Time) (places []place, surplus []*corev1.Pod) {
	of := map[string][]*corev1.Pod{}
	for _, p := range pods {
		of[p.Labels[names.LabelPod]] = append(of[p.Labels[names.LabelPod]], p)
	}
	for _, s := range slots {
		p := place{slot: s}
		for _, pod := range of[s.name] {
			if pod.Labels[names.LabelAttempt] != strconv.Itoa(int(attempt)) {
				surplus = append(surplus, pod)
				p.stage = going // it has the name
				continue
			}
			if p.pod == nil || cmp.Or(pod.CreationTimestamp.Compare(p.pod.CreationTimestamp.Time), cmp.Compare(pod.Name, p.pod.Name)) > 0 {
				p.pod = pod
			}
		}
		delete(of, s.name)
		if p.pod != nil {
			p.judge(now)
		}
		places = append(places, p)
	}
	for _, rest := range of {
		surplus = append(surplus, rest...)
	}
	return places, surplus
}

// judge says how far the pod has come.
func (p *place) judge(now time.Time) {
	status := p.status()
	p.ready = status.Ready && p.pod.DeletionTimestamp == nil
	end := status.State.Terminated
	why, taken := rendezvous.Disrupted(p.pod)
	deleted := p.pod.DeletionTimestamp != nil
	switch {
	case end != nil && (end.ExitCode == 0 || !taken && !deleted): // what the deletion did to it is not its own end
		p.stage, p.code, p.ended = done, end.ExitCode, end.FinishedAt.Time
		p.words, p.before = earlier(end.Message, p.pod.Name)
		p.unstarted(now)
	case deleted && held(p.pod, now):
		p.stage, p.why = forgotten, why
	case deleted:
		p.stage, p.why = going, why
	case taken && p.pod.Status.Phase == corev1.PodFailed:
		p.stage, p.why = lost, why
	case p.pod.Status.Phase == corev1.PodFailed:
		// The kubelet or a controller failed it before its container ran.
		p.stage, p.code, p.words, p.ended = done, names.ExitHopeless, rendezvous.Explain(p.pod, p.container, now).Sentence, now
	case status.State.Running != nil:
		p.stage = running
	default:
		p.stage = starting
	}
}

// unstarted replaces the runtime's words for a container that it could not start.
func (p *place) unstarted(now time.Time) {
	if r := rendezvous.Explain(p.pod, p.container, now); r.Code == rendezvous.NoAgent || r.Code == rendezvous.StartError {
		p.cause, p.words = string(r.Code), r.Sentence+"; hint: "+r.Hint
	}
}

// status is that of the slot's own container.
func (p *place) status() corev1.ContainerStatus {
	for _, s := range p.pod.Status.ContainerStatuses {
		if s.Name == p.container {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// held tells whether a pod that is being deleted is still there only because its
// node does not confirm its end: late by any measure, or taken off a node that
// does not answer.
func held(pod *corev1.Pod, now time.Time) bool {
	end := pod.DeletionTimestamp.Time // of the grace period
	if now.Sub(end) >= heldAfter {
		return true
	}
	why, _ := rendezvous.Disrupted(pod)
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	return (why == "DeletionByTaintManager" || why == "NodeLost") && now.Sub(end.Add(-grace)) >= lostFor && rendezvous.Silent(pod)
}
