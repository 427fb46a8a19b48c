package framework

import (
	"fmt"
	"slices"
	"strconv"
)

// LightGBM prepares LightGBM's socket mode.
//
// LightGBM reads no environment variable: the script passes these values as parameters
// (docs/guides/lightgbm.md). It finds its own number by comparing the list with the addresses of its
// interfaces, so the list holds addresses instead of names.
type LightGBM struct{}

// Prepare implements Framework. A worker of role master comes first and decides; otherwise all
// work. Errors: see [Cluster]; another role.
//
// All fake workers are 127.0.0.1 here and differ by port: LightGBM looks at no other loopback
// address.
func (LightGBM) Prepare(c Cluster) (Launch, error) {
	if c.Fake {
		c.Workers = slices.Clone(c.Workers)
		for i := range c.Workers {
			c.Workers[i].IP = "127.0.0.1"
		}
	}
	launch, err := boosted(c, "lightgbm", func(ranks []rank, r rank) []Var {
		return []Var{
			{Name: "LIGHTGBM_MACHINES", Value: endpoints(ranks), Why: "addresses of all processes; the script passes it as machines"},
			{Name: "LIGHTGBM_LOCAL_LISTEN_PORT", Value: strconv.Itoa(r.port), Why: "port of this process, new for each attempt; local_listen_port"},
			{Name: "LIGHTGBM_NUM_MACHINES", Value: strconv.Itoa(r.size), Why: "number of processes in the job; num_machines"},
		}
	})
	if err != nil {
		return Launch{}, fmt.Errorf("prepare lightgbm: %w", err)
	}
	return launch, nil
}
