package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch"
	"github.com/musterhq/muster/agent/names"
)

// exitCode carries the code of a command that ran through cobra.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run is the whole program; args has no argv[0]. It returns the exit code.
func run(ctx context.Context, args []string, streams launch.Streams) int {
	root := newRoot(streams)
	root.SetArgs(args)
	err := verbOf(args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	launch.Complain(streams.Err, err)
	return launch.CodeOf(err)
}

func newRoot(streams launch.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "agent",
		Short:         "launch MPI jobs from inside the pods",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "help [VERB]", Hidden: true, RunE: helpVerb(root)})
	root.SetHelpFunc(printHelp)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return wrongFlag(cmd, err)
	})
	root.AddCommand(newRun(streams), newEnv(streams), newHosts(streams), newMetrics(streams), newConvert(streams), newVersion(streams))
	for _, verb := range otherVerbs {
		root.AddCommand(newElsewhere(verb))
	}
	return root
}

func helpVerb(root *cobra.Command) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return unknownVerb(strings.Join(args, " "))
		}
		return cmd.Help()
	}
}

// noArgs refuses words that a verb does not take.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &launch.Failure{Code: names.ExitUsage, Err: fmt.Errorf("%s takes no %q", cmd.CommandPath(), args[0]),
		Way: cmd.CommandPath() + " --help"}
}
