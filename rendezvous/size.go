package rendezvous

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Size holds the limits that the kubelet has applied to a worker, which a resize of its pod changes
// in place.
type Size struct {
	Known  bool  // the kubelet reports them, as it does from Kubernetes 1.33 on
	CPU    int64 // thousandths of a CPU; 0: no limit
	Memory int64 // bytes; 0: no limit
}

// sizeOf reads the limits from the pod's status. The spec is no substitute, because it has the new
// limits before the kubelet applies them. The limits of the whole pod hold for each of its
// containers, so the smaller limit counts.
func sizeOf(pod *corev1.Pod, container string) Size {
	s := containerStatus(pod, container)
	if s == nil || s.State.Running == nil || s.Resources == nil {
		return Size{}
	}
	limits := []corev1.ResourceList{s.Resources.Limits, podLimits(pod)}
	return Size{Known: true,
		CPU:    smallest(limits, func(l corev1.ResourceList) int64 { return l.Cpu().MilliValue() }),
		Memory: smallest(limits, func(l corev1.ResourceList) int64 { return l.Memory().Value() })}
}

// podLimits returns the limits of the whole pod: the applied ones, or those of the spec in a cluster
// that cannot change them.
func podLimits(pod *corev1.Pod) corev1.ResourceList {
	switch {
	case pod.Status.Resources != nil:
		return pod.Status.Resources.Limits
	case pod.Spec.Resources != nil:
		return pod.Spec.Resources.Limits
	}
	return nil
}

// smallest returns the smallest limit, or 0 if there is none.
func smallest(lists []corev1.ResourceList, value func(corev1.ResourceList) int64) (least int64) {
	for _, list := range lists {
		if n := value(list); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// Changed says how the limits differ from the earlier ones: "the CPU limit is 2 now, not 4". It
// returns "" if they are equal, or if one of the two is not known.
func (s Size) Changed(was Size) string {
	if !s.Known || !was.Known {
		return ""
	}
	var parts []string
	if s.CPU != was.CPU {
		parts = append(parts, "the CPU limit is "+change(cpus(was.CPU), cpus(s.CPU)))
	}
	if s.Memory != was.Memory {
		parts = append(parts, "the memory limit is "+change(bytes(was.Memory), bytes(s.Memory)))
	}
	return strings.Join(parts, ", and ")
}

// none says that there is no limit.
const none = "none"

// change returns "2 now, not 4".
func change(was, is string) string {
	if was == none {
		return is + " now, where there was none"
	}
	return fmt.Sprintf("%s now, not %s", is, was)
}

func cpus(milli int64) string {
	if milli == 0 {
		return none
	}
	return resource.NewMilliQuantity(milli, resource.DecimalSI).String()
}

func bytes(n int64) string {
	if n == 0 {
		return none
	}
	return resource.NewQuantity(n, resource.BinarySI).String()
}

// restartsForSize reports whether a resize of the container restarts it.
func restartsForSize(pod *corev1.Pod, container string) bool {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == container {
			return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer })
		}
	}
	return false
}

// Refusal is a resize of a worker's pod that does not happen, by the pod's conditions.
type Refusal struct {
	Reason     string // of the kubelet: Infeasible, Deferred or Error; "": there is no such resize
	Message    string // of the kubelet
	Generation int64  // of the pod's spec that asks for it; 0 before Kubernetes 1.34
}

// refusalOf returns the resize that the kubelet refuses, puts off or fails to apply.
func refusalOf(pod *corev1.Pod) Refusal {
	for _, kind := range []corev1.PodConditionType{corev1.PodResizePending, corev1.PodResizeInProgress} {
		c := condition(pod, kind)
		if c.Status != corev1.ConditionTrue || kind == corev1.PodResizeInProgress && c.Reason != corev1.PodReasonError {
			continue
		}
		return Refusal{Reason: c.Reason, Message: clip(c.Message, 300), Generation: c.ObservedGeneration}
	}
	return Refusal{}
}

// Permanent reports whether the resize will not happen, however long one waits.
func (r Refusal) Permanent() bool { return r.Reason == corev1.PodReasonInfeasible }

// Brief reports whether the resize may still happen soon: the kubelet waits for room on the node.
func (r Refusal) Brief() bool { return r.Reason == corev1.PodReasonDeferred }

// Renewed returns the workers with what may have changed in their pods since: their slots, from
// names.AnnotationSlots, and their limits. A worker whose pod is unknown or replaced stays as it is.
func Renewed(workers []Worker, s Snapshot) []Worker {
	pods := make(map[string]*corev1.Pod, len(s.Pods))
	for _, pod := range s.Pods {
		pods[string(pod.UID)] = pod
	}
	all := make([]Worker, 0, len(workers))
	for _, w := range workers {
		if pod := pods[w.UID]; pod != nil {
			w.Slots, w.Size, w.Refused = slotsOf(pod), sizeOf(pod, w.Container), refusalOf(pod)
		}
		all = append(all, w)
	}
	return all
}
