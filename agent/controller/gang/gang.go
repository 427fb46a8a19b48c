package gang

import (
	"fmt"

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

// Backend returns the backend of the job's gang, or "" if there is no gang. For auto, it is Kueue if the job
// names a queue, else the one in the status, and "" before the choice. A job without a gang is in one of Kueue if
// its labels are those of a job that Kueue holds.
func Backend(job *v1alpha1.LaunchJob) string {
	if job.Spec.Gang == nil {
		if labels := kueue.Labels(job.Labels); labels.Queue() != "" || labels.Prebuilt() != "" {
			return Kueue
		}
		return ""
	}
	name := job.Spec.Gang.Backend
	if name == Auto {
		name = job.Status.Gang
		if Queue(job) != "" {
			name = Kueue
		}
	}
	if name == None {
		return ""
	}
	return name
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
