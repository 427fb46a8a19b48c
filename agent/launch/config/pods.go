package config

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/phrase"
)

// CountPods sets the number of workers, if it was not given, to that of the pods that --pods names, like
// mpirun -H. The last of them are the spares.
func (c *Config) CountPods() {
	if len(c.Pods) == 0 || c.Given("workers") || c.IsFake() || c.Elastic() {
		return
	}
	c.Workers, c.Origin["workers"] = max(1, len(c.Pods)-c.Spares), c.Origin["pods"]
}

// validatePods checks that --pods has each worker once, by a valid pod name.
func (c Config) validatePods() error {
	example := "--pods=pi-worker-0,pi-worker-1"
	if strings.HasPrefix(c.Origin["selector"], "flag") {
		return failure.Usage("use only one of them", "--pods and --selector=%s cannot be used together", c.Selector)
	}
	if len(c.Pods) < c.Workers {
		return failure.Usage(example, "--pods names %s, but the run needs %d", phrase.Count(len(c.Pods), "worker"), c.Workers)
	}
	for i, name := range c.Pods {
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			return failure.Usage(example, "--pods: %q is not a valid pod name", name)
		}
		if slices.Index(c.Pods, name) < i {
			return failure.Usage(example, "--pods names %s twice", name)
		}
	}
	return nil
}
