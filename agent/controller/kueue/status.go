package kueue

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mostMessage is the length of a condition's message in bytes, which Kueue's API limits.
const mostMessage = 32 << 10

// set sets a condition of the Workload, and reports whether it has changed. A condition that stays as it is keeps its
// time.
func set(u *unstructured.Unstructured, kind string, yes bool, reason, message string, now time.Time) bool {
	status := "False"
	if yes {
		status = "True"
	}
	message = message[:min(len(message), mostMessage)]
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	at := slices.IndexFunc(list, func(c any) bool { m, _ := c.(map[string]any); return m["type"] == kind })
	next := map[string]any{"type": kind, "status": status, "reason": reason, "message": message,
		"observedGeneration": u.GetGeneration(), "lastTransitionTime": now.UTC().Format(time.RFC3339)}
	if at < 0 {
		list = append(list, next)
	} else {
		have, _ := list[at].(map[string]any)
		if have["status"] == status {
			if have["reason"] == reason && have["message"] == message {
				return false
			}
			next["lastTransitionTime"] = have["lastTransitionTime"]
		}
		list[at] = next
	}
	_ = unstructured.SetNestedSlice(u.Object, list, "status", "conditions") // status is an object, because conditions was read from it
	return true
}

// requeue gives the quota of an evicted Workload back, and lets Kueue queue it again, for all pods. After a preemption or
// the failure of a node it is queued at once, otherwise when Kueue itself decides so.
func (w *Workload) requeue(now time.Time) *unstructured.Unstructured {
	u, out := w.object.DeepCopy(), w.condition(evicted)
	set(u, requeued, out.Reason == byPreemption || out.Reason == byNodeFailures, out.Reason, out.Message, now)
	set(u, quotaReserved, false, "Pending", out.Message, now)
	unstructured.RemoveNestedField(u.Object, "status", "admission")
	unstructured.RemoveNestedField(u.Object, "status", "reclaimablePods")
	if !w.is(admitted) {
		return u
	}
	reason, message := "NoReservation", "The workload has no reservation"
	if slices.ContainsFunc(w.Status.AdmissionChecks, func(c check) bool { return c.State != "Ready" }) {
		reason, message = "NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready"
	}
	set(u, admitted, false, reason, message, now)
	past, _, _ := unstructured.NestedInt64(u.Object, "status", "accumulatedPastExecutionTimeSeconds")
	ran := now.Sub(w.condition(admitted).LastTransitionTime.Time)
	_ = unstructured.SetNestedField(u.Object, past+int64(ran.Seconds()), "status", "accumulatedPastExecutionTimeSeconds")
	return u
}

// finish ends the Workload.
func (w *Workload) finish(reason, message string, now time.Time) *unstructured.Unstructured {
	u := w.object.DeepCopy()
	set(u, finished, true, reason, message, now)
	return u
}

// End returns the Workload of a job that has ended, or nil if it is over already.
func (w *Workload) End(good bool, message string, now time.Time) *unstructured.Unstructured {
	switch {
	case w.Finished():
		return nil
	case good:
		return w.finish("Succeeded", message, now)
	}
	return w.finish("Failed", cmp.Or(message, "the job failed"), now)
}

// Progress is what Kueue is told of a job that it has admitted.
type Progress struct {
	Ready     bool           // all pods are
	Succeeded map[string]int // pods of each pod set that have ended and are not needed again
	Unwanted  map[string]int // pods of each pod set that the job was scaled down by, and that are gone
}

// Follow returns the Workload with the progress of its pods, or nil if it says so already. Kueue uses both only if it
// is configured so, but a job cannot see that.
func (w *Workload) Follow(p Progress, now time.Time) *unstructured.Unstructured {
	u := w.object.DeepCopy()
	changed := w.ready(u, p.Ready, now)
	if w.Admitted() && w.reclaim(u, p) {
		changed = true
	}
	if !changed {
		return nil
	}
	return u
}

// ready sets the condition PodsReady, with the reasons by which Kueue tells a slow start from a failure later.
func (w *Workload) ready(u *unstructured.Unstructured, yes bool, now time.Time) bool {
	have := w.condition(podsReady)
	again := have.Reason == waitForRecover || have.Reason == recovered
	switch {
	case !w.Admitted() && have.Type == "":
		return false
	case !w.Admitted():
		return set(u, podsReady, false, waitForStart, "Not all pods are ready or succeeded", now)
	case yes && again:
		return set(u, podsReady, true, recovered, "All pods reached readiness and the workload is running", now)
	case yes:
		return set(u, podsReady, true, started, "All pods reached readiness and the workload is running", now)
	case have.Status == "True" || have.Reason == waitForRecover:
		return set(u, podsReady, false, waitForRecover, "At least one pod has failed, waiting for recovery", now)
	}
	return set(u, podsReady, false, waitForStart, "Not all pods are ready or succeeded", now)
}

// Unwanted returns how many pods of each pod set an elastic job was scaled down by. A job with slices has none: its
// Workload changes.
func (w *Workload) Unwanted(r Request) map[string]int {
	all, asked, granted := map[string]int{}, w.counts(), w.granted()
	for _, p := range r.PodSets {
		if !r.Elastic && p.Min > 0 && p.Count < granted[p.Name] {
			all[p.Name] = asked[p.Name] - p.Count
		}
	}
	return all
}

// reclaim reports pods whose quota other jobs may have. The numbers of an admitted Workload never fall.
func (w *Workload) reclaim(u *unstructured.Unstructured, p Progress) bool {
	have := w.reclaimed()
	var list []any
	more := false
	for _, set := range w.Spec.PodSets {
		n := min(max(p.Succeeded[set.Name]+p.Unwanted[set.Name], have[set.Name]), int(set.Count))
		more = more || n > have[set.Name]
		if _, known := have[set.Name]; known || n > 0 {
			list = append(list, map[string]any{"name": set.Name, "count": int64(n)})
		}
	}
	if more {
		_ = unstructured.SetNestedSlice(u.Object, list, "status", "reclaimablePods") // the list has only plain values
	}
	return more
}

// Adopt returns a prebuilt Workload that belongs to the job from now on, or nil if it does already.
func (w *Workload) Adopt(r Request) *unstructured.Unstructured {
	u, labels := w.object.DeepCopy(), w.object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	wanted := map[string]string{}
	for key, value := range r.Meta.Labels {
		wanted[key] = value
	}
	owners := u.GetOwnerReferences()
	for _, owner := range r.Meta.OwnerReferences {
		wanted[ownerUID] = string(owner.UID)
		if !slices.ContainsFunc(w.OwnerReferences, func(have ownerReference) bool { return have.UID == owner.UID }) {
			owners = append(owners, owner)
		}
	}
	changed := len(owners) != len(w.OwnerReferences)
	for key, value := range wanted {
		changed = changed || labels[key] != value
		labels[key] = value
	}
	if !changed {
		return nil
	}
	u.SetLabels(labels)
	u.SetOwnerReferences(owners)
	return u
}
