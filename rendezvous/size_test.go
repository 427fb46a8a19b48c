package rendezvous_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/rendezvous"
)

// limits returns the limits of a container or pod; "" is no limit.
func limits(cpu, memory string) *corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return &corev1.ResourceRequirements{Limits: list}
}

func TestSize(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   rendezvous.Size
	}{
		"an old kubelet reports nothing": {func(p *corev1.Pod) { p.Spec.Containers[0].Resources = *limits("4", "8Gi") }, rendezvous.Size{}},
		"applied, while the spec asks for more": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = *limits("8", "8Gi")
			p.Status.ContainerStatuses[0].Resources = limits("1500m", "1Gi")
		}, rendezvous.Size{Known: true, CPU: 1500, Memory: 1 << 30}},
		"no limits": {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Resources = limits("", "") }, rendezvous.Size{Known: true}},
		"the limits of the pod in a cluster that cannot change them": {func(p *corev1.Pod) {
			p.Spec.Resources = limits("2", "2Gi")
			p.Status.ContainerStatuses[0].Resources = limits("", "1Gi")
		}, rendezvous.Size{Known: true, CPU: 2000, Memory: 1 << 30}},
		"the applied limits of the pod": {func(p *corev1.Pod) {
			p.Spec.Resources, p.Status.Resources = limits("8", ""), limits("3", "")
			p.Status.ContainerStatuses[0].Resources = limits("4", "")
		}, rendezvous.Size{Known: true, CPU: 3000}},
		"a container that has ended": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].Resources = limits("4", "")
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, rendezvous.Size{}},
	} {
		pod := shape(t, "running-ready")
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		tc.change(pod)
		require.Equal(t, tc.want, rendezvous.FromPod(pod, "worker").Size, name)
	}
}

func TestSizeChanged(t *testing.T) {
	size := func(cpu, memory int64) rendezvous.Size { return rendezvous.Size{Known: true, CPU: cpu, Memory: memory} }
	for _, tc := range []struct {
		was, is rendezvous.Size
		want    string
	}{
		{size(4000, 1<<30), size(4000, 1<<30), ""},
		{rendezvous.Size{}, size(4000, 0), ""},
		{size(4000, 0), rendezvous.Size{}, ""},
		{size(4000, 0), size(2000, 0), "the CPU limit is 2 now, not 4"},
		{size(0, 0), size(1500, 0), "the CPU limit is 1500m now, where there was none"},
		{size(2000, 1<<30), size(2500, 8<<30), "the CPU limit is 2500m now, not 2, and the memory limit is 8Gi now, not 1Gi"},
		{size(0, 1<<30), size(0, 0), "the memory limit is none now, not 1Gi"},
	} {
		require.Equal(t, tc.want, tc.is.Changed(tc.was))
	}
}

func TestRefusal(t *testing.T) {
	pending := func(reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason, Message: "Node didn't have\ncapacity", ObservedGeneration: 2}
	}
	for name, tc := range map[string]struct {
		has  []corev1.PodCondition
		want rendezvous.Refusal
	}{
		"none":       {},
		"infeasible": {[]corev1.PodCondition{pending("Infeasible")}, rendezvous.Refusal{Reason: "Infeasible", Message: "Node didn't have capacity", Generation: 2}},
		"deferred":   {[]corev1.PodCondition{pending("Deferred")}, rendezvous.Refusal{Reason: "Deferred", Message: "Node didn't have capacity", Generation: 2}},
		"in progress": {[]corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue}},
			rendezvous.Refusal{}},
		"fails": {[]corev1.PodCondition{{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: "Error", Message: "cgroup"}},
			rendezvous.Refusal{Reason: "Error", Message: "cgroup"}},
		"over": {[]corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionFalse, Reason: "Deferred"}}, rendezvous.Refusal{}},
	} {
		pod := shape(t, "running-ready")
		pod.Status.Conditions = append(pod.Status.Conditions, tc.has...)
		got := rendezvous.FromPod(pod, "worker").Refused
		require.Equal(t, tc.want, got, name)
		require.Equal(t, got.Reason == "Infeasible", got.Permanent(), name)
		require.Equal(t, got.Reason == "Deferred", got.Brief(), name)
	}
}

// TestRenewed checks that a later attempt has the slots and limits of the pods as they are then.
func TestRenewed(t *testing.T) {
	pod := shape(t, "running-ready")
	old := rendezvous.FromPod(pod, "worker")
	replaced := old
	replaced.UID, replaced.Slots = "another", 3
	next := pod.DeepCopy()
	next.Annotations = map[string]string{names.AnnotationSlots: "2"}
	next.Status.ContainerStatuses[0].Resources = limits("2", "")
	got := rendezvous.Renewed([]rendezvous.Worker{replaced, old}, rendezvous.Snapshot{Pods: []*corev1.Pod{next}})
	require.Equal(t, replaced, got[0])
	require.Equal(t, 2, got[1].Slots)
	require.Equal(t, rendezvous.Size{Known: true, CPU: 2000}, got[1].Size)
	require.Zero(t, old.Slots, "the caller's workers stay the same")
}

// TestMemoryOfThePod checks that an OOM kill names the limit that was reached, and where to raise it.
func TestMemoryOfThePod(t *testing.T) {
	for name, tc := range map[string]struct{ container, pod, says, hint string }{
		"the container's":   {"512Mi", "", "OOMKilled, limit 512Mi, ", "raise resources.limits.memory of container worker"},
		"only the pod's":    {"", "1Gi", "OOMKilled, limit of the pod 1Gi, ", "raise spec.resources.limits.memory of the pod"},
		"the pod's is less": {"2Gi", "1Gi", "OOMKilled, limit of the pod 1Gi, ", "raise spec.resources.limits.memory of the pod"},
		"the pod's is more": {"512Mi", "1Gi", "OOMKilled, limit 512Mi, ", "raise resources.limits.memory of container worker"},
		"no limit":          {"", "", "(OOMKilled, ", "raise resources.limits.memory of container worker"},
	} {
		pod := shape(t, "oom-loop")
		pod.Spec.Containers[0].Resources = *limits("", tc.container)
		if tc.pod != "" {
			pod.Spec.Resources = limits("", tc.pod)
		}
		r := rendezvous.Explain(pod, "worker", noon)
		require.Equal(t, rendezvous.OOMKilled, r.Code)
		require.Contains(t, r.Sentence, tc.says, name)
		require.Contains(t, r.Hint, tc.hint, name)
	}
	pod := shape(t, "oom-loop") // killed while the kubelet defers a resize
	pod.Spec.Containers[0].Resources, pod.Status.ContainerStatuses[0].Resources = *limits("", "8Gi"), limits("", "4Gi")
	require.Contains(t, rendezvous.Explain(pod, "worker", noon).Sentence, "limit 4Gi")
}
