package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/agent/retry/rules"
)

// validateRestarts checks --max-restarts and the flags that need it.
func (c Config) validateRestarts() error {
	if _, err := c.Retries(); err != nil {
		return err
	}
	for _, one := range []struct{ flag, value string }{
		{"restart-on", c.RestartOn}, {"restart-policy", c.RestartPolicy}, {"max-restarts-per", c.MaxRestartsPer},
		{"max-no-progress", fmt.Sprint(c.MaxNoProgress)}, {"progress-file", c.ProgressFile},
	} {
		if c.MaxRestarts == 0 && strings.HasPrefix(c.Origin[one.flag], "flag") {
			return failure.Usage("--max-restarts=3 allows three", "--%s=%s has no effect without --max-restarts", one.flag, one.value)
		}
	}
	if c.MaxRestarts > 0 && c.Port != 0 && PortBlocks(c.Port) < 2 {
		return failure.Usage("without --port, free ports are chosen", "--port=%d leaves no ports for a second attempt: each attempt uses %d ports", c.Port, framework.PortBlock)
	}
	return nil
}

// Retries returns the restart policy that the user allows.
func (c Config) Retries() (retry.Policy, error) {
	if c.MaxRestarts < 0 {
		return retry.Policy{}, failure.Usage("--max-restarts=3 allows three, 0 none", "--max-restarts=%d must not be negative", c.MaxRestarts)
	}
	list := c.RestartOn
	if list == "" {
		list = retry.Default
	}
	classes, err := retry.Parse(list)
	if err != nil {
		return retry.Policy{}, failure.Usage(fmt.Sprintf("want exit codes, lost, infra, oom, hang, stall and any, as in %s; +1 adds to the default, -143 removes", retry.Default),
			"--restart-on=%s: %w", c.RestartOn, err)
	}
	p := retry.Policy{Max: c.MaxRestarts, On: classes, MaxNoProgress: c.NoProgress()}
	set, err := c.Rules()
	if err != nil {
		return retry.Policy{}, err
	}
	p.Rules = set
	if c.MaxRestartsPer != "" {
		if p.Per, err = retry.ParseBudget(c.MaxRestartsPer); err != nil {
			return retry.Policy{}, failure.Usage("--max-restarts-per=6/1h allows six restarts in an hour", "--max-restarts-per=%s: %w", c.MaxRestartsPer, err)
		}
	}
	if c.MaxNoProgress < 0 {
		return retry.Policy{}, failure.Usage("--max-no-progress=3 allows three attempts without progress, 0 any number", "--max-no-progress=%d must not be negative", c.MaxNoProgress)
	}
	if _, err := filepath.Match(c.ProgressFile, ""); err != nil {
		return retry.Policy{}, failure.Usage("as in --progress-file='/data/ckpt/*.pt'", "--progress-file=%s: %w", c.ProgressFile, err)
	}
	return p, nil
}

// Rules returns the rules of --restart-policy.
func (c Config) Rules() (*rules.Set, error) {
	set, err := rules.List([]byte(c.RestartPolicy))
	var bad *rules.RuleError
	if errors.As(err, &bad) {
		return nil, failure.Usage(bad.Hint(), "%w", err)
	}
	return set, err
}

// noProgressByFile is the default of --max-no-progress with --progress-file.
const noProgressByFile = 3

// NoProgress returns how many attempts in a row may make no progress; 0: any number. Without
// --progress-file the default is 0: a program without checkpoints starts from the beginning each
// time, and may still succeed.
func (c Config) NoProgress() int {
	if !c.Given("max-no-progress") && c.MaxNoProgress == 0 && c.ProgressFile != "" {
		return noProgressByFile
	}
	return c.MaxNoProgress
}

// PortBlocks returns the number of port blocks from a port on.
func PortBlocks(port int) int { return (1<<16 - port) / framework.PortBlock }
