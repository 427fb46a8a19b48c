package controller

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Backends of a gang.
const (
	volcano      = "volcano"
	coscheduling = "coscheduling"
	kueue        = "kueue"
	workload     = "workload"
)

// Labels and annotations of pods in a gang, from the schedulers' own documentation. Users read these
// comments in docs/reference/labels.md.
const (
	// Annotation: the PodGroup of the pod, with gang.backend volcano.
	volcanoGroup = "scheduling.k8s.io/group-name"
	// Annotation: the role of the pod, with gang.backend volcano.
	volcanoTask = "volcano.sh/task-spec"
	// Label: the PodGroup of the pod, with gang.backend coscheduling.
	coschedulingGroup = "scheduling.x-k8s.io/pod-group"
	// Label: the queue of gang.queue, with gang.backend kueue.
	kueueQueue = "kueue.x-k8s.io/queue-name"
	// Label: the name of the job, with gang.backend kueue.
	kueueGroup = "kueue.x-k8s.io/pod-group-name"
	// Annotation: the number of pods in the job, with gang.backend kueue.
	kueueTotal = "kueue.x-k8s.io/pod-group-total-count"
)

// backend returns the gang's backend, or "" if there is no gang.
func backend(job *v1alpha1.LaunchJob) string {
	if g := job.Spec.Gang; g != nil && g.Backend != "none" {
		return g.Backend
	}
	return ""
}

// gangKind returns the kind of a backend's gang object, independent of the versions that the
// cluster serves. Kueue creates its own from the pods.
func gangKind(backend string) (schema.GroupKind, bool) {
	if backend == kueue {
		return schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}, true
	}
	groups := map[string]string{volcano: "scheduling.volcano.sh", coscheduling: "scheduling.x-k8s.io", workload: "scheduling.k8s.io"}
	group, ok := groups[backend]
	return schema.GroupKind{Group: group, Kind: "PodGroup"}, ok
}

// members returns how many pods must fit at once: all including the launcher, unless the user says
// less.
func (b builder) members() int64 {
	all := len(b.slots) - int(b.job.Spec.Spares) // which may come later
	if e := b.job.Spec.Elastic; e != nil {
		all = int(e.Min) + 1
	}
	return int64(ptr.Deref(b.job.Spec.Gang.MinMember, int32(all)))
}

// gang returns the gang's object, or nil for backends that need none. version is one that the
// cluster serves.
func (b builder) gang(version string) *unstructured.Unstructured {
	name := backend(b.job)
	kind, ok := gangKind(name)
	if !ok || name == kueue {
		return nil
	}
	g, spec := b.job.Spec.Gang, map[string]any{"minMember": b.members()}
	switch name {
	case volcano:
		spec["queue"], spec["priorityClassName"] = g.Queue, g.PriorityClassName
	case workload:
		spec = map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": b.members()}}, "priorityClassName": g.PriorityClassName}
	}
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == "" })
	meta := b.owned(b.job.Name)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind.WithVersion(version))
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)
	u.SetLabels(meta.Labels)
	u.SetOwnerReferences(meta.OwnerReferences)
	u.SetAnnotations(taskTopology(ptr.Deref(g.Topology, v1alpha1.Topology{})))
	return u
}

func taskTopology(t v1alpha1.Topology) map[string]string {
	all := map[string]string{
		"volcano.sh/task-topology-affinity": t.Affinity, "volcano.sh/task-topology-anti-affinity": t.AntiAffinity,
		"volcano.sh/task-topology-task-order": t.Order,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// join adds a pod to the gang.
func (b builder) join(pod *corev1.Pod, s slot) {
	g := b.job.Spec.Gang
	if backend(b.job) == "" {
		return
	}
	pod.Spec.PriorityClassName = cmp.Or(pod.Spec.PriorityClassName, g.PriorityClassName)
	scheduler := g.SchedulerName
	switch backend(b.job) {
	case volcano:
		scheduler = cmp.Or(scheduler, "volcano")
		pod.Annotations[volcanoGroup], pod.Annotations[volcanoTask] = b.job.Name, s.role
	case coscheduling:
		scheduler = cmp.Or(scheduler, "scheduler-plugins-scheduler")
		pod.Labels[coschedulingGroup] = b.job.Name
	case workload:
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &b.job.Name}
	case kueue:
		pod.Labels[kueueQueue], pod.Labels[kueueGroup] = g.Queue, b.job.Name
		pod.Annotations[kueueTotal] = number(int32(len(b.slots)))
	}
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduler)
}

// gangOf returns the backend whose gang a template, or the job, requests in addition. It recognizes
// it by the labels, annotations and scheduler of such pods.
func gangOf(labels, annotations map[string]string, scheduler string) string {
	switch {
	case annotations[volcanoGroup] != "" || scheduler == "volcano":
		return volcano
	case labels[coschedulingGroup] != "":
		return coscheduling
	case labels[kueueQueue] != "":
		return kueue
	}
	return ""
}
