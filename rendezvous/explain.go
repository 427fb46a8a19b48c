package rendezvous

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// OwnedGrace is the grace of a permanently failed pod that has an owner. A Job waits 10 s before it
// creates a replacement.
const OwnedGrace = 60 * time.Second

// Explain says why the pod's container does not run: one sentence that names the pod and the cause,
// and a hint. The zero Reason means that the container runs and the pod is Ready. A running pod
// that is not Ready is NotReady or NodeLost; its link decides whether that matters. container is
// the role's own, see Containers.Pick. now is for durations.
//
// Conditions and reasons are those of the kubelet, the scheduler and the node lifecycle controller
// in Kubernetes 1.34.
func Explain(pod *corev1.Pod, container string, now time.Time) Reason {
	e := explainer{pod: pod, container: container, now: now}
	for _, rule := range []func() Reason{e.disrupted, e.failed, e.terminating, e.scheduling, e.initialising, e.own, e.readiness} {
		if r := rule(); !r.OK() {
			r.Pod = pod.Name
			return r
		}
	}
	return Reason{}
}

type explainer struct {
	pod       *corev1.Pod
	container string
	now       time.Time
}

// byKueue is the condition of a pod that Kueue has failed.
const byKueue = "TerminatedByKueue"

// Disrupted reports whether the pod was evicted, preempted or lost with its node, and why. It uses
// the reasons of the kubelet and of the node lifecycle controller, else the condition
// DisruptionTarget. Kueue fails a pod that cannot start on the node which it was given.
func Disrupted(pod *corev1.Pod) (why string, yes bool) {
	switch pod.Status.Reason {
	case "Evicted", "Preempting", "Preempted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated":
		return pod.Status.Reason, true
	}
	if c := condition(pod, byKueue); c.Status == corev1.ConditionTrue {
		return c.Reason, true
	}
	c := condition(pod, corev1.DisruptionTarget)
	return c.Reason, c.Status == corev1.ConditionTrue
}

// disrupted explains a pod that was removed from its node.
func (e explainer) disrupted() Reason {
	p, c := e.pod, condition(e.pod, corev1.DisruptionTarget)
	why, yes := Disrupted(p)
	over := p.Status.Phase == corev1.PodFailed
	if !yes || !over && p.DeletionTimestamp == nil {
		return Reason{}
	}
	if k := condition(p, byKueue); k.Status == corev1.ConditionTrue {
		c = k
	}
	message := strings.TrimRight(or(p.Status.Message, c.Message), ". ")
	r := Reason{Since: c.LastTransitionTime.Time, Permanent: over, Grace: e.ownedGrace()}
	switch why {
	case "Evicted", "EvictionByEvictionAPI", "TerminationByKubelet":
		r.Code = Evicted
		r.Hint = "free that resource on the node, set the requests of the pod to what it uses, or run it elsewhere"
		if why == "EvictionByEvictionAPI" {
			r.Hint = "its node is being drained, or the eviction API was called; its owner creates a new pod, otherwise create it again"
		}
	case "Preempting", "Preempted", "PreemptionByScheduler":
		r.Code = Preempted
		r.Hint = "a pod of higher priority took its place; give the job a higher priorityClassName, or wait for free resources"
	case "NodeLost", "DeletionByTaintManager", "DeletionByPodGC", "NodeShutdown", "Terminated", "Shutdown":
		r.Code = NodeLost
		// The taint that causes the deletion comes later than the silence of the node.
		if ready := condition(p, corev1.PodReady); ready.Status == corev1.ConditionFalse && ready.LastTransitionTime.Before(&c.LastTransitionTime) {
			r.Since = ready.LastTransitionTime.Time
		}
		r.Hint = "its node is lost or not reachable: kubectl get node " + p.Spec.NodeName
	case "UnschedulableOnAssignedNode":
		r.Code = NodeLost
		r.Hint = "Kueue has failed the pod, because the node that it was given is not healthy; its owner creates a new pod, and Kueue gives that another node"
	default:
		return Reason{}
	}
	brief, _, _ := strings.Cut(message, ". ") // the thresholds are only in the sentence
	r.Brief = string(r.Code) + ": " + or(clip(brief, 120), why)
	r.Sentence = fmt.Sprintf("%s: %s node %s: %s", p.Name, map[Code]string{
		Evicted: "evicted from", Preempted: "preempted on", NodeLost: "lost with",
	}[r.Code], or(or(p.Spec.NodeName, p.Spec.NodeSelector[corev1.LabelHostname]), "(none)"), or(clip(message, 400), why))
	return r
}

// failed explains phase Failed by a decision of the kubelet or a controller, without a failed
// container.
func (e explainer) failed() Reason {
	p := e.pod
	if p.Status.Phase != corev1.PodFailed || p.Status.Reason == "" || p.DeletionTimestamp != nil {
		return Reason{}
	}
	return Reason{
		Code: Error, Permanent: true, Grace: e.ownedGrace(),
		Brief:    p.Status.Reason + ": " + clip(p.Status.Message, 120),
		Sentence: fmt.Sprintf("%s: the pod failed (%s): %s", p.Name, p.Status.Reason, or(clip(p.Status.Message, 400), "no message")),
		Hint:     "a failed pod does not restart: delete it to have it replaced (kubectl delete pod " + p.Name + ")",
	}
}

// waitingForReplacement is added while the launcher still waits for its workers.
const waitingForReplacement = "; waiting for its replacement"

func (e explainer) terminating() Reason {
	p := e.pod
	if p.DeletionTimestamp == nil {
		return Reason{}
	}
	r := Reason{
		Code: Terminating, Brief: "Terminating: being deleted",
		Sentence: p.Name + ": it is being deleted" + waitingForReplacement,
		Hint:     "a pod without an owner is not replaced: create it again",
		Since:    p.DeletionTimestamp.Time,
	}
	// The timestamp is the end of the grace period, not its start.
	if late := e.now.Sub(p.DeletionTimestamp.Time); late > 30*time.Second {
		r.Code, r.Brief = NodeLost, "NodeLost: still terminating after its grace period"
		r.Sentence = fmt.Sprintf("%s: still terminating %s after its grace period; node %s does not confirm its end", p.Name, short(late), or(p.Spec.NodeName, "(none)"))
		r.Hint = "see kubectl get node " + p.Spec.NodeName + "; if the node is dead for good: kubectl delete pod --force " + p.Name
		if len(p.Finalizers) > 0 {
			r.Code, r.Brief = Terminating, "Terminating: held by finalizer "+p.Finalizers[0]
			r.Sentence = fmt.Sprintf("%s: still terminating %s after its grace period; held by finalizer %s", p.Name, short(late), strings.Join(p.Finalizers, ", "))
			r.Hint = "the controller that owns the finalizer must remove it: kubectl get pod " + p.Name + " -o yaml"
		}
	}
	return r
}

func (e explainer) scheduling() Reason {
	p, c := e.pod, condition(e.pod, corev1.PodScheduled)
	if p.Spec.NodeName != "" {
		return Reason{}
	}
	r := Reason{Since: c.LastTransitionTime.Time}
	message := clip(c.Message, 1000)
	switch {
	case c.Reason == corev1.PodReasonSchedulingGated || c.Status != corev1.ConditionTrue && len(p.Spec.SchedulingGates) > 0:
		var gates []string
		for _, g := range p.Spec.SchedulingGates {
			gates = append(gates, g.Name)
		}
		r.Code, r.Brief = SchedulingGated, "SchedulingGated: by "+strings.Join(gates, ", ")
		r.Sentence = fmt.Sprintf("%s: held back by scheduling gate %s%s", p.Name, strings.Join(gates, ", "), lasting(r.Since, e.now))
		r.Hint = "the controller that set the gate removes it when resources are free"
		if strings.Contains(r.Brief, "kueue") {
			r.Hint = "the job waits for quota in its queue: kubectl get workloads.kueue.x-k8s.io -n " + p.Namespace
		}
	case c.Status == corev1.ConditionFalse:
		// The second half of the scheduler's message says why preemption and other claims on
		// devices would not help.
		brief, _, _ := strings.Cut(message, " preemption:")
		brief, _, _ = strings.Cut(brief, " no new claims to deallocate,")
		r.Code, r.Brief = Unschedulable, "Unschedulable: "+or(clip(brief, 160), c.Reason)
		r.Sentence = fmt.Sprintf("%s: the scheduler finds no node for it%s: %s", p.Name, lasting(r.Since, e.now), or(message, c.Reason))
		r.Hint = "free resources, request less, or correct the node selector, tolerations and volumes; an autoscaler may still add a node"
	default:
		r.Code, r.Brief = Pending, "Pending: not scheduled yet"
		r.Since = p.CreationTimestamp.Time
		r.Sentence = fmt.Sprintf("%s: no scheduler has looked at it%s", p.Name, lasting(r.Since, e.now))
		r.Hint = "is scheduler " + or(p.Spec.SchedulerName, corev1.DefaultSchedulerName) + " running? " + e.describe()
	}
	return r
}

// readiness explains a container that runs in a pod that is not Ready.
func (e explainer) readiness() Reason {
	p := e.pod
	ready := condition(p, corev1.PodReady)
	if ready.Status == corev1.ConditionTrue || ready.Status == "" {
		return Reason{}
	}
	r := Reason{Since: ready.LastTransitionTime.Time}
	if Silent(p) {
		r.Code, r.Brief = NodeLost, "NodeLost: node "+p.Spec.NodeName+" does not answer"
		r.Sentence = fmt.Sprintf("%s: the kubelet of node %s does not answer%s", p.Name, p.Spec.NodeName, lasting(r.Since, e.now))
		r.Hint = "see kubectl get node " + p.Spec.NodeName
		return r
	}
	r.Code, r.Brief = NotReady, "NotReady: "+or(clip(ready.Message, 120), "its readiness probe fails")
	r.Sentence = fmt.Sprintf("%s: the container runs, the pod is not Ready%s: %s", p.Name, lasting(r.Since, e.now), or(clip(ready.Message, 300), ready.Reason))
	r.Hint = "a job needs no readiness probe; " + e.describe()
	return r
}

// Silent reports whether the kubelet of the pod's node does not answer. The node lifecycle
// controller then sets only Ready to False.
func Silent(pod *corev1.Pod) bool {
	ready, containers := condition(pod, corev1.PodReady), condition(pod, corev1.ContainersReady)
	return ready.Status != corev1.ConditionTrue && ready.Status != "" && ready.Reason != "ReadinessGatesNotReady" && containers.Status == corev1.ConditionTrue
}

func (e explainer) ownedGrace() time.Duration {
	for _, o := range e.pod.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return OwnedGrace
		}
	}
	return 0
}

func (e explainer) describe() string {
	return fmt.Sprintf("kubectl describe pod %s -n %s", e.pod.Name, or(e.pod.Namespace, corev1.NamespaceDefault))
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
