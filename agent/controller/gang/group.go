package gang

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// Group is the gang of a job.
type Group struct {
	Job  *v1alpha1.LaunchJob
	Pods int // of the job, including the launcher and spares
}

// members returns how many pods must fit at once: all including the launcher, unless the user says
// less.
func (g Group) members() int64 {
	all := g.Pods - int(g.Job.Spec.Spares) // which may come later
	if e := g.Job.Spec.Elastic; e != nil {
		all = int(e.Min) + 1
	}
	return int64(ptr.Deref(g.Job.Spec.Gang.MinMember, int32(all)))
}

// Object returns the gang's object, or nil for backends that need none. That of Kueue is in package kueue. version is
// one that the cluster serves.
func (g Group) Object(meta metav1.ObjectMeta, version string) *unstructured.Unstructured {
	name := Backend(g.Job)
	kind, ok := Kind(name)
	if !ok || name == Kueue {
		return nil
	}
	want, spec := g.Job.Spec.Gang, map[string]any{"minMember": g.members()}
	switch name {
	case Volcano:
		spec["queue"], spec["priorityClassName"] = want.Queue, want.PriorityClassName
	case Workload:
		spec = g.workload(version)
	}
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == "" })
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind.WithVersion(version))
	u.SetName(meta.Name)
	u.SetNamespace(meta.Namespace)
	u.SetLabels(meta.Labels)
	u.SetOwnerReferences(meta.OwnerReferences)
	u.SetAnnotations(taskTopology(ptr.Deref(want.Topology, v1alpha1.Topology{})))
	return u
}

// workload returns the spec of Kubernetes' own PodGroup. Kubernetes 1.36, which serves v1alpha2, rejects
// its priority unless a feature gate is set, and has no whole-gang preemption without it. The pods' own
// priority counts there.
func (g Group) workload(version string) map[string]any {
	spec := map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": g.members()}}}
	if version != "v1alpha2" {
		spec["priorityClassName"] = g.Job.Spec.Gang.PriorityClassName
		spec["disruptionMode"] = map[string]any{"all": map[string]any{}} // a job with half of its workers is of no use
	}
	return spec
}

func taskTopology(t v1alpha1.Topology) map[string]string {
	all := map[string]string{
		"volcano.sh/task-topology-affinity": t.Affinity, "volcano.sh/task-topology-anti-affinity": t.AntiAffinity,
		"volcano.sh/task-topology-task-order": t.Order,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// Join adds a pod of a role to the gang. Labels and annotations of the pod are not nil.
func (g Group) Join(pod *corev1.Pod, role string) {
	name, want := Backend(g.Job), ptr.Deref(g.Job.Spec.Gang, v1alpha1.Gang{})
	if name == "" {
		return
	}
	pod.Spec.PriorityClassName = cmp.Or(pod.Spec.PriorityClassName, want.PriorityClassName)
	scheduler := want.SchedulerName
	switch name {
	case Volcano:
		scheduler = cmp.Or(scheduler, "volcano")
		pod.Annotations[volcanoGroup], pod.Annotations[volcanoTask] = g.Job.Name, role
	case Coscheduling:
		scheduler = cmp.Or(scheduler, "scheduler-plugins-scheduler")
		pod.Labels[coschedulingGroup] = g.Job.Name
	case Workload:
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.Job.Name}
	}
	pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, scheduler)
}
