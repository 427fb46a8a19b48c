package kueue

import (
	"fmt"
	"strings"
)

// waits returns why a job has no pods, in Kueue's words, and what to do if waiting does not help.
func (w *Workload) waits() (Reason, string) {
	name := "Workload " + w.Name + ": "
	out, quota := w.condition(evicted), w.condition(quotaReserved)
	switch {
	case w.Spec.Active != nil && !*w.Spec.Active:
		said := "spec.active is false"
		if w.is(evicted) {
			said = strings.TrimRight(out.Message, ". ")
		}
		return Evicted, name + said + "; an administrator sets spec.active of the Workload to true to queue it again"
	case w.is(evicted):
		reason := Evicted
		if out.Reason == byPreemption {
			reason = Preempted
		}
		if quota.Status == "False" && quota.Message != out.Message {
			return reason, name + strings.TrimRight(out.Message, ". ") + "; since then: " + quota.Message
		}
		return reason, name + out.Message
	case quota.Status == "False" && quota.Reason == inadmissible && ofQueue(quota.Message):
		return NoQueue, name + quota.Message + ": kubectl get localqueues lists the queues of the namespace; to change gang.queue, suspend the job first"
	case quota.Status == "False":
		return Waits, name + quota.Message
	case w.is(quotaReserved):
		return Waits, name + w.checks()
	}
	return Waits, name + "Kueue has not answered yet: if this does not change, check that Kueue runs"
}

// ofQueue reports whether Kueue's words are about the queue itself.
func ofQueue(words string) bool {
	return strings.HasPrefix(words, "LocalQueue ") || strings.HasPrefix(words, "ClusterQueue ")
}

// checks returns which admission checks are not ready.
func (w *Workload) checks() string {
	var list []string
	for _, c := range w.Status.AdmissionChecks {
		switch {
		case c.State == "Ready":
		case c.Message == "":
			list = append(list, c.Name+" is "+c.State)
		default:
			list = append(list, fmt.Sprintf("%s is %s (%s)", c.Name, c.State, c.Message))
		}
	}
	if len(list) == 0 {
		return "it has quota in ClusterQueue " + w.Queue() + ", and Kueue is about to admit it"
	}
	return "it has quota in ClusterQueue " + w.Queue() + ", and admission checks are not ready: " + strings.Join(list, "; ")
}
