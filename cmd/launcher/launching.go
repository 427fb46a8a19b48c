//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/show"
)

// newLaunching returns a verb of launchVerbs.
func newLaunching(streams Streams, verb string) *cobra.Command {
	switch verb {
	case "env":
		return newEnv(streams)
	case "hosts":
		return newHosts(streams)
	}
	return newRun(streams)
}

// partsOf chooses the parts of a run.
func partsOf(cfg config.Config) launch.Parts {
	parts := launch.OverPods()
	if cfg.IsFake() {
		parts = launch.OverFakes()
	}
	if cfg.Elastic() {
		parts = parts.WithElastic()
	}
	return parts
}

// stacksHere is agent stacks in the pod of a launcher.
func stacksHere(streams Streams, ranks []string) error { return show.Stacks(streams.Out, ranks) }
