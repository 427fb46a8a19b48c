package kubeflow

import "slices"

// judge finds what the validation of the LaunchJob would reject, and what could not start.
func (c *conversion) judge() {
	spec := c.job.Spec
	said := slices.ContainsFunc(c.object.book.findings, func(f Finding) bool { return f.Fatal })
	if spec.Launcher == nil && len(spec.Roles) > 0 && !said {
		c.ranks()
	}
}
