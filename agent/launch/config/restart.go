package config

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/retry"
)

// validateRestarts checks --max-restarts and --restart-on.
func (c Config) validateRestarts() error {
	if _, err := c.Retries(); err != nil {
		return err
	}
	switch {
	case c.MaxRestarts == 0 && strings.HasPrefix(c.Origin["restart-on"], "flag"):
		return failure.Usage("--max-restarts=3 allows three", "--restart-on=%s has no effect without --max-restarts", c.RestartOn)
	case c.MaxRestarts > 0 && c.Port != 0 && PortBlocks(c.Port) < 2:
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
	return retry.Policy{Max: c.MaxRestarts, On: classes}, nil
}

// PortBlocks returns the number of port blocks from a port on.
func PortBlocks(port int) int { return (1<<16 - port) / framework.PortBlock }
