package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
)

const versionHelp = `usage: agent version [-o json]

Prints version, commit and protocol range of the launcher, like agent --version.`

func newVersion(streams Streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "print the version",
		Long:  versionHelp,
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			line := "agent-launcher " + version()
			switch output {
			case "":
			case "json":
				text, err := json.MarshalIndent(identity(), "", "  ")
				if err != nil {
					return fmt.Errorf("encode version: %w", err)
				}
				line = string(text)
			default:
				return failure.Usage("want json", "-o %s: unknown format", output)
			}
			_, err := fmt.Fprintln(streams.Out, line)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "print in `FORMAT`: json")
	return cmd
}
