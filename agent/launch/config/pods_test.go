package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountPods(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   int
		origin string
	}{
		"pods by flag":         {func(c *Config) {}, 3, "flag --pods"},
		"pods by variable":     {func(c *Config) { c.Origin["pods"] = "env MUSTER_PODS" }, 3, "env MUSTER_PODS"},
		"spares are the last":  {func(c *Config) { c.Spares = 1 }, 2, "flag --pods"},
		"spares and no worker": {func(c *Config) { c.Spares = 3 }, 1, "flag --pods"}, // validateSpares refuses it
		"a number":             {func(c *Config) { c.Workers, c.Origin["workers"] = 2, "flag --workers" }, 2, "flag --workers"},
		"no pods":              {func(c *Config) { c.Pods = nil }, 0, "default"},
		"elastic":              {func(c *Config) { c.LeastWorkers = 2 }, 0, "default"},
		"fake":                 {func(c *Config) { c.Fake = 2 }, 0, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Origin: map[string]string{"workers": "default", "pods": "flag --pods"}}
			c.Pods = []string{"a", "b", "c"}
			tc.change(&c)
			c.CountPods()
			require.Equal(t, tc.want, c.Workers)
			require.Equal(t, tc.origin, c.Origin["workers"])
		})
	}
}
