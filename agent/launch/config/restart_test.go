package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
)

func TestRestartsOfTheUser(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"--max-restarts=-1 must not be negative":                                func(c *Config) { c.MaxRestarts = -1 },
		`--restart-on=137,sigsegv: "sigsegv" is not an exit code`:               func(c *Config) { c.MaxRestarts, c.RestartOn = 1, "137,sigsegv" },
		"--restart-on=1 has no effect without --max-restarts":                   func(c *Config) { c.RestartOn, c.Origin = "1", map[string]string{"restart-on": "flag --restart-on"} },
		"--port=64000 leaves no ports for a second attempt":                     func(c *Config) { c.MaxRestarts, c.Port = 1, 64000 },
		"--restart-on=999: 999 is not an exit code of a failure: want 1 to 255": func(c *Config) { c.MaxRestarts, c.RestartOn = 1, "999" },
		"--restart-policy=[{\"action\":\"fail\"}] has no effect without": func(c *Config) {
			c.RestartPolicy, c.Origin = `[{"action":"fail"}]`, map[string]string{"restart-policy": "flag --restart-policy"}
		},
		"--max-no-progress=2 has no effect without --max-restarts": func(c *Config) {
			c.MaxNoProgress, c.Origin = 2, map[string]string{"max-no-progress": "flag --max-no-progress"}
		},
		"--restart-policy is not a list of rules":                          func(c *Config) { c.MaxRestarts, c.RestartPolicy = 1, "oom" },
		"--max-restarts-per=1h: want NUMBER/TIME, as in 6/1h":              func(c *Config) { c.MaxRestarts, c.MaxRestartsPer = 1, "1h" },
		"--max-no-progress=-1 must not be negative":                        func(c *Config) { c.MaxRestarts, c.MaxNoProgress = 1, -1 },
		"--progress-file=[: syntax error in pattern":                       func(c *Config) { c.MaxRestarts, c.ProgressFile = 1, "[" },
		`--restart-on=+1,137: "137" has no + or -, but other entries have`: func(c *Config) { c.MaxRestarts, c.RestartOn = 1, "+1,137" },
	} {
		c := Defaults()
		change(&c)
		err := c.validateRestarts()
		require.ErrorContains(t, err, want)
		require.Equal(t, names.ExitUsage, failure.CodeOf(err))
		var f *failure.Failure
		require.ErrorAs(t, err, &f)
		require.NotEmpty(t, f.Hint())
	}
	c := Defaults()
	require.NoError(t, c.validateRestarts())
	c.RestartOn, c.Origin = "1", map[string]string{"restart-on": "env MUSTER_RESTART_ON"}
	require.NoError(t, c.validateRestarts(), "the environment of a pod applies to many commands, so it is no error")
	policy, err := Config{Limits: Limits{Restarts: Restarts{MaxRestarts: 2}}}.Retries()
	require.NoError(t, err)
	require.True(t, (&retry.Account{Policy: policy}).Decide(retry.End{Code: 137}, time.Now()).Again)
}

// TestDefaultOfNoProgress checks that by default only files end a run whose attempts make no
// progress, and that 0 turns that off.
func TestDefaultOfNoProgress(t *testing.T) {
	c := Defaults()
	require.Zero(t, c.NoProgress())
	c.ProgressFile = "ck/*"
	require.Equal(t, 3, c.NoProgress())
	c.MaxNoProgress = 5
	require.Equal(t, 5, c.NoProgress())
	c.MaxNoProgress, c.Origin = 0, map[string]string{"max-no-progress": "flag --max-no-progress"}
	require.Zero(t, c.NoProgress())
}
