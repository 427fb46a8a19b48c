package kubeflow

import (
	"slices"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// policy returns a field of spec.runPolicy. In older objects it is in spec itself.
func (c *conversion) policy(key string) reader {
	in, old := c.spec.at("runPolicy").at(key), c.spec.like(key)
	if !in.has() {
		return old
	}
	if old.has() {
		old.warn("", "%s takes precedence", in.path)
	}
	return in
}

// runPolicy converts when the job starts and what remains after it.
func (c *conversion) runPolicy() {
	p := &v1alpha1.RunPolicy{CleanPodPolicy: "None", Suspend: c.policy("suspend").flag()}
	clean := c.policy("cleanPodPolicy")
	switch given := clean.text(); given {
	case "":
	case "None", "Running", "All":
		p.CleanPodPolicy = given
	default:
		clean.fatal("want None, Running or All", "%q is not a policy", given)
	}
	p.ActiveDeadlineSeconds = deadline(c.policy("activeDeadlineSeconds"))
	p.TTLSecondsAfterFinished = c.policy("ttlSecondsAfterFinished").count()
	c.job.Spec.RunPolicy = p
	c.managedBy(c.policy("managedBy"))
}

// deadline returns a number of seconds, at least 1.
func deadline(r reader) *int64 {
	n := r.number()
	if n != nil && *n < 1 {
		r.fatal("omit it, or set at least 1 second", "the job would fail at once")
	}
	return n
}

// operators are the controllers that Muster replaces.
var operators = []string{"kubeflow.org/mpi-operator", "kubeflow.org/training-operator", "trainer.kubeflow.org/trainjob-controller"}

// managedBy carries over a controller other than the kind's own.
func (c *conversion) managedBy(r reader) {
	switch by := r.text(); {
	case by == "":
	case slices.Contains(operators, by):
		r.note("the kind's own operator: Muster's controller takes its place")
	default:
		c.job.Spec.ManagedBy = &by
	}
}
