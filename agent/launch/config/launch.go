package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/external"
	"github.com/musterhq/muster/agent/group/output"
	"github.com/musterhq/muster/exec/names"
)

// size returns how many workers to use. 0 means all workers that are found or that join.
func (c Config) size() int {
	switch {
	case c.Elastic():
		return 0
	case c.IsFake():
		return c.Fake
	}
	return c.Workers
}

// Given reports whether a flag, or its variable, was set.
func (c Config) Given(flag string) bool {
	return c.Origin[flag] != "" && c.Origin[flag] != "default"
}

// validateLaunch checks the settings for processes on the workers.
func (c Config) validateLaunch() error {
	if c.Given("procs-per-worker") && c.ProcsPerWorker < 1 {
		return failure.Usage("--procs-per-worker=2 starts two on each worker", "--procs-per-worker=%d: a worker has at least one process", c.ProcsPerWorker)
	}
	if !c.Auto() || c.Compat != "" || c.DynamicWorkers {
		if _, err := Choose(c, func(external.Program) framework.Framework { return nil }); err != nil {
			return err
		}
	}
	if c.Compat != "" && c.Job == "" {
		return failure.Usage("set --job=NAME, with or without a selector; without --compat, hosts are addresses",
			"--compat=%s needs --job: host names start with the name of the job", c.Compat)
	}
	if n := c.size(); n > 0 {
		if _, err := framework.ParseRoles(c.Roles, n); err != nil {
			return failure.Usage("--roles assigns roles to the workers in order, as in chief=1,worker=2", "%w", err)
		}
	}
	if c.Given("port") && (c.Port < 1 || c.Port > 1<<16-framework.PortBlock) {
		return failure.Usage(fmt.Sprintf("a run uses %d ports from --port up; without --port, it chooses free ones", framework.PortBlock),
			"--port=%d: want 1 to %d", c.Port, 1<<16-framework.PortBlock)
	}
	if err := c.validateElastic(); err != nil {
		return err
	}
	if err := c.validateSpares(); err != nil {
		return err
	}
	for _, kv := range c.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return failure.Usage("--env OMP_NUM_THREADS=4 sets one variable", "--env %q is not NAME=VALUE", kv)
		}
	}
	if err := c.validateInterface(); err != nil {
		return err
	}
	if err := c.validateRestarts(); err != nil {
		return err
	}
	if err := c.validateMetrics(); err != nil {
		return err
	}
	return c.validateOutput()
}

func (c Config) validateInterface() error {
	if _, err := netip.ParsePrefix(c.Interface); strings.Contains(c.Interface, "/") && err != nil {
		return failure.Usage("--interface=eth1, or --interface=10.1.0.0/16", "--interface=%s: %w", c.Interface, err)
	}
	return nil
}

func (c Config) validateOutput() error {
	mode, err := c.validateFormat()
	switch {
	case err != nil:
		return err
	case c.printsItself():
		return c.ofMPIRun(mode)
	case len(c.Command) > 0 && (c.Auto() || c.Framework == launcherFramework) && c.Detected() == "" && c.Compat == "":
		return c.HereOnly()
	}
	return nil
}

// validateFormat checks --output and --only-ranks by themselves.
func (c Config) validateFormat() (output.Mode, error) {
	mode, err := c.OutputMode()
	if err != nil {
		hint := failure.Meant("--output=", c.Output, []string{"tag", "plain"}, "want tag, plain, dir=PATH or s3://BUCKET/PREFIX")
		return mode, failure.Usage(hint, "--output=%s: %w", c.Output, err)
	}
	_, err = c.Shown()
	return mode, err
}

// printsItself reports whether an mpirun starts the ranks and prints their output.
func (c Config) printsItself() bool {
	return len(c.Command) > 0 && (c.Auto() || c.Framework == launcherFramework) && names.IsMPIRun(c.Command[0])
}

// ofMPIRun returns an error for flags that only the program that starts the ranks could obey.
func (c Config) ofMPIRun(mode output.Mode) error {
	name := c.Command[0]
	switch {
	case mode.Kind == output.Dir && c.Output != "":
		return failure.Usage(name+" has its own option for that: --output-filename (Open MPI), -outfile-pattern (MPICH, Intel MPI)",
			"--output=%s: %s starts the ranks and prints their output, not Muster", c.Output, name)
	case c.OnlyRanks != "":
		return failure.Usage("--output=tag marks each line with its rank, for grep", "--only-ranks=%s: %s starts the ranks and prints their output, not Muster", c.OnlyRanks, name)
	case c.Given("procs-per-worker"):
		return failure.Usage("--slots sets how many ranks "+name+" places on a worker", "--procs-per-worker=%d: %s starts the ranks, not Muster", c.ProcsPerWorker, name)
	}
	return nil
}

// OutputMode parses --output. Without --output it returns the zero Mode, tags.
func (c Config) OutputMode() (output.Mode, error) {
	if c.Output == "" {
		return output.Mode{}, nil
	}
	return output.ParseMode(c.Output)
}

// toFiles reports whether --output names a place for files.
func (c Config) toFiles() bool {
	mode, err := c.OutputMode()
	return err == nil && mode.Kind == output.Dir
}

// GroupOutput is OutputMode for this number of processes. A single process that no other can join
// needs no tags.
func (c Config) GroupOutput(processes int) (output.Mode, error) {
	mode, err := c.OutputMode()
	if c.Output == "" && processes == 1 && !c.Elastic() {
		mode.Kind = output.Plain
	}
	return mode, err
}

// Shown returns the ranks of --only-ranks; nil means all ranks.
func (c Config) Shown() ([]output.Span, error) {
	if c.OnlyRanks == "" {
		return nil, nil
	}
	spans, err := output.ParseRanks(c.OnlyRanks)
	if err != nil {
		return nil, failure.Usage("want ranks and ranges, as in --only-ranks=0,2-3", "--only-ranks=%s: %w", c.OnlyRanks, err)
	}
	return spans, nil
}
