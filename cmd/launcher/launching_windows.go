package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// newLaunching returns a placeholder for a verb of launchVerbs: Windows has no sessions and process
// groups for it.
func newLaunching(_ Streams, verb string) *cobra.Command {
	return &cobra.Command{Use: verb, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return failure.New(names.ExitNoCluster, "agent submit starts a job in a cluster, and works here", "agent %s is for Linux", verb)
	}}
}

// stacksHere returns an error, because no launcher runs on Windows.
func stacksHere(Streams, []string) error {
	return failure.Usage("give the name of a job", "missing job name: no launcher runs on Windows")
}
