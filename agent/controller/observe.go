package controller

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/history"
	"github.com/musterhq/muster/agent/controller/reports"
	"github.com/musterhq/muster/agent/goodput"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// stage is the state of a pod in its life.
type stage int

const (
	missing stage = iota // there is no pod
	starting
	running   // the slot's own container runs
	done      // that container has ended, whatever the sidecars do
	lost      // the pod was evicted or preempted, or lost its node
	going     // the pod is being deleted
	forgotten // the pod is being deleted, and its node does not confirm it
)

// place is a slot with its pod.
type place struct {
	slot
	pod    *corev1.Pod // the newest; nil if missing
	main   string      // the pod's own container
	stage  stage
	ready  bool
	code   int32
	words  string                   // the container's last words
	before []v1alpha1.FailedAttempt // earlier attempts that the words report
	spent  goodput.Account          // what the workers' time was spent on, from the words
	run    history.End              // attempts that the words report
	ended  time.Time                // when the container ended, or the pod if its container never ran
	why    string                   // why the pod was lost
	cause  string                   // why the container could not be started; "" if it was
}

// skew is how far the clock of a node may differ from that of the API server. If both orders of two events are possible, a
// worker is replaced and no job succeeds: work that runs again costs less than work that is lost.
const skew = 10 * time.Second

// heldAfter is how long after its grace period a pod may still exist before its replacement takes
// another name. lostFor is the same for a pod whose node is known not to answer.
const (
	heldAfter = 5 * time.Second
	lostFor   = 3 * time.Second
)

// observe assigns pods to the slots of a job. surplus are the pods without a slot: those of roles
// that became smaller, and of earlier attempts. If a node that does not answer holds a pod of an earlier attempt, the
// place has this pod until it has one of its own.
func observe(slots []slot, pods []*corev1.Pod, attempt int32, now time.Time) (places []place, surplus []*corev1.Pod) {
	of := map[string][]*corev1.Pod{}
	for _, p := range pods {
		of[p.Labels[names.LabelPod]] = append(of[p.Labels[names.LabelPod]], p)
	}
	current := strconv.Itoa(int(attempt))
	for _, s := range slots {
		p := place{slot: s}
		for _, pod := range of[s.name] {
			if pod.Labels[names.LabelAttempt] != current {
				surplus = append(surplus, pod)
				if pod.DeletionTimestamp == nil || !held(pod, now) {
					p.stage = going // it still has the name
					continue
				}
			}
			if p.pod == nil || cmp.Or(pod.CreationTimestamp.Compare(p.pod.CreationTimestamp.Time), cmp.Compare(pod.Name, p.pod.Name)) > 0 {
				p.pod = pod
			}
		}
		delete(of, s.name)
		if p.main = s.container; p.pod != nil { // the one that decided when the pod was created, whatever the template says by now
			p.main = cmp.Or(p.pod.Annotations[names.AnnotationDefaultContainer], s.container)
		}
		switch {
		case p.pod != nil && p.pod.Labels[names.LabelAttempt] == current:
			p.judge(now)
		case p.pod != nil:
			p.stage = forgotten
			p.why, _ = rendezvous.Disrupted(p.pod)
		}
		if s.over {
			p.stage, p.code = done, 0
		}
		places = append(places, p)
	}
	for _, rest := range of {
		surplus = append(surplus, rest...)
	}
	return places, surplus
}

// judge sets the stage of the pod.
func (p *place) judge(now time.Time) {
	status := p.status()
	p.ready = status.Ready && p.pod.DeletionTimestamp == nil
	end := status.State.Terminated
	why, taken := rendezvous.Disrupted(p.pod)
	deleted := p.pod.DeletionTimestamp != nil
	switch {
	case end != nil && p.restarts(end.ExitCode):
		p.stage = starting
	case end != nil && (!taken && !deleted || end.ExitCode == 0 && (p.launcher() || end.FinishedAt.Add(skew).Before(history.Told(p.pod)))):
		p.stage, p.code, p.ended = done, end.ExitCode, end.FinishedAt.Time
		said := reports.Read(end.Message, p.pod.Name)
		p.words, p.before, p.spent, p.run = said.Words, said.Before, said.Spent, history.End{Attempts: said.Attempts, Omitted: said.Omitted}
		p.unstarted(now)
	case deleted && held(p.pod, now):
		p.stage, p.why = forgotten, why
	case deleted:
		p.stage, p.why = going, why
	case taken && (p.pod.Status.Phase == corev1.PodFailed || p.pod.Status.Phase == corev1.PodSucceeded): // not every such pod is deleted
		p.stage, p.why = lost, why
	case p.pod.Status.Phase == corev1.PodFailed:
		// The kubelet or a controller failed the pod before its container ran.
		p.stage, p.code, p.words, p.ended = done, names.ExitHopeless, rendezvous.Explain(p.pod, p.main, now).Sentence, history.Failed(p.pod)
	case status.State.Running != nil:
		p.stage = running
	default:
		p.stage = starting
	}
}

// began reports whether the container of a pod that has ended ever ran.
func (p *place) began() bool { return p.over || p.status().State.Terminated != nil && p.cause == "" }

// restarts reports whether the kubelet starts the container again in the same pod, by the rules of its
// template. A worker that its launcher has given up gets another pod whatever they say.
func (p *place) restarts(code int32) bool {
	return (p.launcher() || code != names.ExitReplaced) && rendezvous.Restarts(p.pod, p.main, code)
}

// unstarted replaces the runtime's message for a container that it could not start.
func (p *place) unstarted(now time.Time) {
	if r := rendezvous.Explain(p.pod, p.main, now); r.Code == rendezvous.NoAgent || r.Code == rendezvous.StartError {
		p.cause, p.words = string(r.Code), r.Sentence+"; hint: "+r.Hint
	}
}

// status returns the status of the slot's own container.
func (p *place) status() corev1.ContainerStatus {
	for _, s := range p.pod.Status.ContainerStatuses {
		if s.Name == p.main {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// held reports whether a deleted pod still exists only because its node does not confirm its end:
// it is far past its grace period, or its node does not answer.
func held(pod *corev1.Pod, now time.Time) bool {
	if now.Sub(pod.DeletionTimestamp.Time) >= heldAfter { // deletion time plus grace period
		return true
	}
	why, _ := rendezvous.Disrupted(pod)
	return (why == "DeletionByTaintManager" || why == "NodeLost") && now.Sub(history.Deleted(pod)) >= lostFor && rendezvous.Silent(pod)
}
