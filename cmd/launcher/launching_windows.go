package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// newLaunching returns a placeholder for a verb of launchVerbs: Windows has no sessions and process
// groups for it.
func newLaunching(_ Streams, verb string) *cobra.Command {
	return &cobra.Command{Use: verb, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return failure.New(names.ExitNoCluster, "agent submit starts a job in a cluster, and works here", "agent %s is for Linux and macOS", verb)
	}}
}

// stacksHere returns an error, because no launcher runs on Windows.
func stacksHere(Streams, []string) error {
	return failure.Usage("give the name of a job", "missing job name: no launcher runs on Windows")
}

// version returns the commit, and the build environment.
func version() string {
	i := identity()
	return fmt.Sprintf("%s (%s, %s)", i.Version, i.Go, i.Platform)
}

// commit is the output of `agent version -o json`, without the protocol, which this build does not
// have.
type commit struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// identity returns the version for other programs.
func identity() commit {
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		revision = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				revision = s.Value[:12]
			}
		}
	}
	return commit{"agent-launcher", revision, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}
