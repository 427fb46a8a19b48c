//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch/show"
)

const envHelp = `usage: agent env [FLAGS] [-- COMMAND...]

Prints what run exports, as lines for a shell. Beside a running launcher it prints that
launcher's environment, so that mpirun typed by hand reaches the workers; otherwise what
the flags would give now.

  eval "$(agent env)"; mpirun ./program
  agent env --explain                       each variable and why it is set
  agent env --fake=4
  agent env --fake=4 --framework=torch --explain
                                            what each process on the workers gets`

func newEnv(streams Streams) *cobra.Command {
	flags := newFlags()
	var explain bool
	cmd := &cobra.Command{
		Use:   "env [flags] [-- COMMAND...]",
		Short: "print what run exports",
		Long:  envHelp,
		Args:  afterDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := flags.resolve(cmd, args)
			if err != nil {
				return err
			}
			return show.Env(cmd.Context(), cfg, streams.Out, explain)
		},
	}
	flags.bind(cmd)
	cmd.Flags().BoolVar(&explain, "explain", false, "say why each variable is set and where each setting comes from")
	return cmd
}

// afterDash accepts a command after "--", which determines the framework, and no other words.
func afterDash(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() == 0 {
		return nil
	}
	return noArgs(cmd, args)
}
