package gang

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/kueue"
)

// Backends of a gang.
const (
	Auto         = "auto"
	None         = "none"
	Volcano      = "volcano"
	Coscheduling = "coscheduling"
	Kueue        = "kueue"
	Workload     = "workload"
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
)

// Backend returns the backend of the job's gang, or "" if there is no gang. If the spec names none, it is the one in
// the status, or "" if the job has begun without one. Before that, the names and labels of a queue decide. So a label
// that is added to or removed from a running job has no effect until the job is suspended.
func Backend(job *v1alpha1.LaunchJob) string {
	name := ""
	switch g := job.Spec.Gang; {
	case g != nil && g.Backend != Auto:
		name = g.Backend
	case meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.Admitted):
		name = Kueue // also of a controller that did not write a label's choice into the status
	case Begun(job):
		name = job.Status.Gang
	case g != nil && Queue(job) != "", g == nil && labeled(job):
		name = Kueue
	}
	if name == None {
		return ""
	}
	return name
}

// Begun reports whether the choice of the backend was made. A suspended job chooses again.
func Begun(job *v1alpha1.LaunchJob) bool { return job.Status.Gang != "" || job.Status.StartTime != nil }

// labeled reports whether the labels are those of a job that Kueue holds.
func labeled(job *v1alpha1.LaunchJob) bool {
	labels := kueue.Labels(job.Labels)
	return labels.Queue() != "" || labels.Prebuilt() != ""
}

// Kind returns the kind of a backend's gang object, independent of the versions that the
// cluster serves.
func Kind(backend string) (kind schema.GroupKind, found bool) {
	switch backend {
	case Volcano:
		return schema.GroupKind{Group: "scheduling.volcano.sh", Kind: "PodGroup"}, true
	case Coscheduling:
		return schema.GroupKind{Group: "scheduling.x-k8s.io", Kind: "PodGroup"}, true
	case Workload:
		return schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PodGroup"}, true
	case Kueue:
		return schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}, true
	}
	return schema.GroupKind{}, false
}

// Missing is the error of a job whose scheduler is not installed.
type Missing struct {
	Backend string
	Kind    schema.GroupKind // that the cluster does not serve
}

func (m *Missing) Error() string {
	return fmt.Sprintf("gang.backend is %s, but this cluster has no %s of %s: install the scheduler, or choose another backend", m.Backend, m.Kind.Kind, m.Kind.Group)
}

// Claimed returns the backend whose gang a template, or the job, requests in addition. It recognizes
// it by the labels, annotations and scheduler of such pods.
func Claimed(labels, annotations map[string]string, scheduler string) string {
	switch {
	case annotations[volcanoGroup] != "" || scheduler == Volcano:
		return Volcano
	case labels[coschedulingGroup] != "":
		return Coscheduling
	case kueue.Labels(labels).Queue() != "":
		return Kueue
	}
	return ""
}
