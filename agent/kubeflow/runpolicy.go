package kubeflow

import (
	"slices"

	"github.com/musterhq/muster/agent/api/v1alpha1"
)

// policy is a field of spec.runPolicy; in older objects it stands in spec itself.
func (c *conversion) policy(key string) reader {
	in, old := c.spec.at("runPolicy").at(key), c.spec.like(key)
	if !in.has() {
		return old
	}
	if old.has() {
		old.warn("", "%s counts", in.path)
	}
	return in
}

// runPolicy says when the job begins and what stays of it.
func (c *conversion) runPolicy() {
	p := &v1alpha1.RunPolicy{CleanPodPolicy: "None", Suspend: c.policy("suspend").flag()}
	clean := c.policy("cleanPodPolicy")
	switch given := clean.text(); given {
	case "":
	case "None", "Running", "All":
		p.CleanPodPolicy = given
	default:
		clean.fatal("it takes None, Running, All", "%q is no policy", given)
	}
	p.ActiveDeadlineSeconds = deadline(c.policy("activeDeadlineSeconds"))
	p.TTLSecondsAfterFinished = c.policy("ttlSecondsAfterFinished").count()
	c.job.Spec.RunPolicy = p
	c.managedBy(c.policy("managedBy"))
}

// deadline is a number of seconds from 1.
func deadline(r reader) *int64 {
	n := r.number()
	if n != nil && *n < 1 {
		r.fatal("leave it away, or give seconds from 1", "the job would fail at once")
	}
	return n
}

// operators are those whose place Muster's controller takes.
var operators = []string{"kubeflow.org/mpi-operator", "kubeflow.org/training-operator", "trainer.kubeflow.org/trainjob-controller"}

// managedBy names another controller than the kind's own.
func (c *conversion) managedBy(r reader) {
	switch by := r.text(); {
	case by == "":
	case slices.Contains(operators, by):
		r.note("the kind's own operator: Muster's controller takes its place")
	default:
		c.job.Spec.ManagedBy = &by
	}
}
