package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch"
)

func newVersion(streams launch.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "what this is",
		Long:  "usage: agent version\n\nPrints version, commit and protocol range of the launcher.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "agent-launcher "+launch.Version())
			return err
		},
	}
}
