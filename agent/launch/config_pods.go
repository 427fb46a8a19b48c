package launch

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// validatePods judges --pods: each worker once, by a name that a pod can have.
func (c Config) validatePods() error {
	example := "--pods=pi-worker-0,pi-worker-1"
	if strings.HasPrefix(c.Origin["selector"], "flag") {
		return usage("leave one of them away", "--pods names the workers and --selector=%s selects them", c.Selector)
	}
	if len(c.Pods) < c.Workers {
		return usage(example, "--pods names %s, and there are to be %d", count(len(c.Pods), "worker"), c.Workers)
	}
	for i, name := range c.Pods {
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			return usage(example, "--pods: %q is no pod's name", name)
		}
		if slices.Index(c.Pods, name) < i {
			return usage(example, "--pods names %s twice", name)
		}
	}
	return nil
}
