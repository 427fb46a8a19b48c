package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch"
)

const envHelp = `usage: agent env [FLAGS]

Prints what run exports, as lines for a shell. Beside a running launcher it prints that
launcher's environment, so that mpirun typed by hand reaches the workers; otherwise what
the flags would give now.

  eval "$(agent env)"; mpirun ./program
  agent env --explain                       each variable and why it is set
  agent env --fake=4`

func newEnv(streams launch.Streams) *cobra.Command {
	flags := newFlags()
	var explain bool
	cmd := &cobra.Command{
		Use:   "env [flags]",
		Short: "print what run exports",
		Long:  envHelp,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.resolve(cmd, nil)
			if err != nil {
				return err
			}
			return launch.Env(cmd.Context(), cfg, streams.Out, explain)
		},
	}
	flags.bind(cmd)
	cmd.Flags().BoolVar(&explain, "explain", false, "say why each variable is set and where each setting comes from")
	return cmd
}
