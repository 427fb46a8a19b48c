package gang

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/musterhq/muster/agent/api/v1alpha1"
	"github.com/musterhq/muster/agent/controller/kueue"
)

// Choose returns the backend for gang.backend: auto, and why. Kueue comes first for a job with a queue,
// because only Kueue knows the queue. A backend that the job's templates claim is next, because pods in
// two gangs never start. served reports whether the cluster serves a kind.
//
// For a job without a gang, Choose returns that of its labels and no reason. If the spec names a backend, it returns "".
func Choose(job *v1alpha1.LaunchJob, claimed string, served func(schema.GroupKind) (bool, error)) (backend, why string, err error) {
	switch g := job.Spec.Gang; {
	case g == nil:
		return Backend(job), "", nil
	case g.Backend != Auto:
		return "", "", nil
	case Queue(job) != "":
		return Kueue, "the job names a queue", nil
	case claimed != "":
		return claimed, "a template of the job asks for it", nil
	}
	for _, backend := range []string{Workload, Volcano, Coscheduling} {
		kind, _ := Kind(backend)
		switch found, err := served(kind); {
		case err != nil:
			return "", "", fmt.Errorf("look for %s of %s: %w", kind.Kind, kind.Group, err)
		case found:
			return backend, fmt.Sprintf("the cluster has %s of %s", kind.Kind, kind.Group), nil
		}
	}
	return None, "the cluster has no gang scheduler, so a part of the pods may start and wait for the others", nil
}

// Queue returns the queue of a job for Kueue: the one in gang.queue, else that of the job's label, else that of a
// template's.
func Queue(job *v1alpha1.LaunchJob) string {
	name := ""
	if g := job.Spec.Gang; g != nil {
		name = g.Queue
	}
	name = cmp.Or(name, kueue.Labels(job.Labels).Queue())
	if l := job.Spec.Launcher; l != nil {
		name = cmp.Or(name, kueue.Labels(l.Template.Labels).Queue())
	}
	for i := range job.Spec.Roles {
		name = cmp.Or(name, kueue.Labels(job.Spec.Roles[i].Template.Labels).Queue())
	}
	return name
}
