//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch"
)

// launching are the verbs of a launcher, which are for pods and for rehearsals.
func launching(streams Streams) []*cobra.Command {
	return []*cobra.Command{newRun(streams), newEnv(streams), newHosts(streams)}
}

// stacksHere is agent stacks beside a launcher.
func stacksHere(streams Streams, ranks []string) error { return launch.Stacks(streams.Out, ranks) }

// version is the release or commit, with what it was built by.
func version() string { return launch.Version() }

// identity is the same for programs.
func identity() launch.Identity { return launch.Identify("agent-launcher") }
