package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "what this is",
		Long:  "usage: agent version\n\nPrints version, commit and protocol range of the launcher.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(streams.Out, "agent-launcher "+version())
			return err
		},
	}
}
