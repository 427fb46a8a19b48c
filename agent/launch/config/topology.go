package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/rendezvous"
)

const (
	// NoTopology as the only entry of --topology-keys orders ranks by index.
	NoTopology = "none"
	// maxTopologyKeys is the largest number of entries of --topology-keys, as in a LaunchJob.
	maxTopologyKeys = 8
)

// RankKeys returns the node labels for the order of ranks, from coarse to fine; nil means by index.
// The ranks of an elastic run stay with their workers, so they follow the index. The same holds for
// roles, and for the names of --compat, which contain the index.
func (c Config) RankKeys() []string {
	if c.Elastic() || c.Roles != "" || c.Compat != "" {
		return nil
	}
	return c.DomainKeys()
}

// DomainKeys returns the node labels that describe where a worker is, from coarse to fine.
func (c Config) DomainKeys() []string {
	switch {
	case slices.Contains(c.TopologyKeys, NoTopology):
		return nil
	case len(c.TopologyKeys) > 0:
		return c.TopologyKeys
	}
	return rendezvous.TopologyKeys()
}

// validateTopology checks --topology-keys.
func (c Config) validateTopology() error {
	example := "--topology-keys=topology.kubernetes.io/zone,example.com/rack, from coarse to fine"
	if len(c.TopologyKeys) > maxTopologyKeys {
		return failure.Usage(example, "--topology-keys has %d keys; want at most %d", len(c.TopologyKeys), maxTopologyKeys)
	}
	if slices.Contains(c.TopologyKeys, NoTopology) && len(c.TopologyKeys) > 1 {
		return failure.Usage(example, "--topology-keys: none cannot be used together with keys")
	}
	for _, key := range c.TopologyKeys {
		if len(validation.IsQualifiedName(key)) > 0 {
			return failure.Usage(example, "--topology-keys: %q is not a label key", key)
		}
	}
	return nil
}
