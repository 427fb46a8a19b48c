//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch/show"
)

const envHelp = `usage: agent env [FLAGS] [-- COMMAND...]

Prints the environment that run sets, as shell commands. In the pod of a running launcher it
prints the environment of that launcher, so that you can call mpirun yourself. Elsewhere it
prints the environment that the given flags lead to.

  eval "$(agent env)"; mpirun ./program
  agent env --explain                       explain each variable
  agent env --fake=4
  agent env --fake=4 --framework=torch --explain
                                            explain the variables of each process`

func newEnv(streams Streams) *cobra.Command {
	flags := newFlags()
	var explain bool
	cmd := &cobra.Command{
		Use:   "env [flags] [-- COMMAND...]",
		Short: "print the environment that run sets",
		Long:  envHelp,
		Args:  afterDash,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := flags.resolve(cmd, args)
			if err != nil {
				return err
			}
			return show.Env(cmd.Context(), cfg, partsOf(cfg).Site, streams.Out, explain)
		},
	}
	flags.bind(cmd)
	cmd.Flags().BoolVar(&explain, "explain", false, "explain why each variable is set and where each setting comes from")
	return cmd
}

// afterDash accepts a command after "--", which determines the framework, and no other words.
func afterDash(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() == 0 {
		return nil
	}
	return noArgs(cmd, args)
}
