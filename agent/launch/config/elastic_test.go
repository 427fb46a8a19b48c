package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

func TestValidateElastic(t *testing.T) {
	config := func(change func(*Config), flags ...string) Config {
		c := Defaults()
		c.Command, c.Job, c.Origin = []string{"torchrun", "t.py"}, "pi", map[string]string{}
		for _, flag := range flags {
			c.Origin[flag] = "flag --" + flag
		}
		change(&c)
		return c
	}
	fake := func(n int, change func(*Config)) Config {
		return config(func(c *Config) {
			c.Fake, c.FakeGiven, c.LeastWorkers = n, true, 2
			change(c)
		}, "fake", "min-workers")
	}
	for name, tc := range map[string]struct {
		config     Config
		want, hint string // "" means valid
		most       int
	}{
		"two to five":              {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers = 2, 5 }, "min-workers", "max-workers"), most: 5},
		"--workers is the maximum": {config: config(func(c *Config) { c.LeastWorkers, c.Workers = 2, 4 }, "min-workers", "workers"), most: 4},
		"the pod's own variable beside --max-workers": {config: config(func(c *Config) {
			c.LeastWorkers, c.MostWorkers, c.Workers = 2, 5, 3
			c.Origin["workers"] = "env MUSTER_WORKERS"
		}), most: 5},
		"fake":                   {config: fake(3, func(*Config) {}), most: 3},
		"fake, one joins later":  {config: fake(3, func(c *Config) { c.FakeFaults = []string{"join after=2s", "kill worker=3 after=9s"} }), most: 4},
		"minimum equals maximum": {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers = 3, 3 }), most: 3},

		"minimum above --max-workers": {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers = 5, 2 }),
			want: "--min-workers=5 is more than the maximum: --max-workers=2", hint: "--min-workers=2 --max-workers=5"},
		"minimum above --workers": {config: config(func(c *Config) { c.LeastWorkers, c.Workers = 5, 2 }), want: "--min-workers=5 is more than the maximum: --workers=2"},
		"minimum above --fake":    {config: fake(1, func(*Config) {}), want: "--min-workers=2 is more than the maximum: --fake=1"},
		"zero minimum":            {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers = 0, 5 }, "min-workers"), want: "--min-workers=0: a run has at least one worker"},
		"zero maximum":            {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers = 1, 0 }, "max-workers"), want: "--max-workers=0: a run has at least one worker"},
		"no minimum":              {config: config(func(c *Config) { c.MostWorkers = 5 }, "max-workers"), want: "--max-workers=5 requires --min-workers", hint: "--workers waits for a fixed number"},
		"no maximum":              {config: config(func(c *Config) { c.LeastWorkers = 2 }, "min-workers"), want: "the number of workers is not set"},
		"two maxima": {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers, c.Workers = 2, 5, 3 }, "workers"),
			want: "--workers=3 and --max-workers=5 conflict with each other", hint: "omit --workers"},
		"roles": {config: config(func(c *Config) { c.LeastWorkers, c.MostWorkers, c.Roles = 2, 5, "master=1,worker=4" }),
			want: "--roles=master=1,worker=4 assigns roles to fixed workers"},
		"more fake workers than --max-workers": {config: fake(3, func(c *Config) { c.MostWorkers, c.FakeFaults = 3, []string{"join after=1s"} }),
			want: "--fake and --fake-fault join start 4 fake workers, but --max-workers=3"},
		"join without --min-workers": {config: fake(3, func(c *Config) {
			c.LeastWorkers, c.FakeFaults = 0, []string{"join after=1s"}
			delete(c.Origin, "min-workers")
		}),
			want: "workers can join only an elastic run", hint: "--min-workers=2"},
		"kill of an unknown worker": {config: fake(3, func(c *Config) { c.FakeFaults = []string{"join after=2s", "kill worker=4 after=9s"} }), want: "no worker 4"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.config.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				require.Equal(t, tc.most, tc.config.Most())
				require.True(t, tc.config.Elastic())
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, names.ExitUsage, failure.CodeOf(err))
			var f *failure.Failure
			require.ErrorAs(t, err, &f)
			require.Contains(t, f.Hint(), tc.hint)
		})
	}
}
