package gang

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/musterhq/muster/agent/api/v1alpha1"
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
	// Label: the queue of gang.queue, with gang.backend kueue.
	kueueQueue = "kueue.x-k8s.io/queue-name"
	// Label: the name of the job, with gang.backend kueue.
	kueueGroup = "kueue.x-k8s.io/pod-group-name"
	// Annotation: the number of pods in the job, with gang.backend kueue.
	kueueTotal = "kueue.x-k8s.io/pod-group-total-count"
)

// Backend returns the backend of the job's gang, or "" if there is no gang. For auto, it is the one in
// the status, and "" before the choice.
func Backend(job *v1alpha1.LaunchJob) string {
	if job.Spec.Gang == nil {
		return ""
	}
	name := job.Spec.Gang.Backend
	if name == Auto {
		name = job.Status.Gang
	}
	if name == None {
		return ""
	}
	return name
}

// Kind returns the kind of a backend's gang object, independent of the versions that the
// cluster serves. Kueue creates its own from the pods.
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

// Claimed returns the backend whose gang a template, or the job, requests in addition. It recognizes
// it by the labels, annotations and scheduler of such pods.
func Claimed(labels, annotations map[string]string, scheduler string) string {
	switch {
	case annotations[volcanoGroup] != "" || scheduler == Volcano:
		return Volcano
	case labels[coschedulingGroup] != "":
		return Coscheduling
	case labels[kueueQueue] != "":
		return Kueue
	}
	return ""
}
