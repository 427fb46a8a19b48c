//go:build !windows

package main

import (
	"github.com/spf13/cobra"

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

// stacksHere is agent stacks in the pod of a launcher.
func stacksHere(streams Streams, ranks []string) error { return show.Stacks(streams.Out, ranks) }
