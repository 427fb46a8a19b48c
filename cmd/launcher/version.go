package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/build"
	"github.com/musterhq/muster/exec/wire"
)

const versionHelp = `usage: agent version [-o json]

Prints the version, the commit and the range of protocols, like agent --version.`

func newVersion(streams Streams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "print the version",
		Long:  versionHelp,
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			i := build.Identify("agent-launcher", wire.ProtoMin, wire.ProtoMax)
			line := string(streams.Caller) + " " + i.String()
			switch output {
			case "":
			case "json":
				text, err := json.MarshalIndent(i, "", "  ")
				if err != nil {
					return fmt.Errorf("encode version: %w", err)
				}
				line = string(text)
			default:
				return failure.OneOf("-o", output, "json")
			}
			_, err := fmt.Fprintln(streams.Out, line)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "print in `FORMAT`: json")
	return cmd
}
