package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

// exitCode passes the exit code of a command through cobra.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run is the whole program. args does not include argv[0]. run returns the exit code.
func run(ctx context.Context, args []string, streams Streams) int {
	args = verbFirst(args)
	if len(args) > 0 && args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	if wantsJSON(args) {
		streams.asJSON()
	}
	args, err := ofStep(ctx, args, streams)
	if err == nil {
		err = verbOf(streams.Caller, args)
	}
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	root := newRoot(streams, verb)
	all := false
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(streams, cmd, all) })
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if all = asksForAll(err); all {
			return pflag.ErrHelp // cobra prints the help
		}
		return wrongFlag(cmd, err)
	})
	root.SetArgs(args)
	root.PersistentPreRunE = func(cmd *cobra.Command, words []string) error {
		if err := cmp.Or(dashesAsValue(cmd), ranksAsNamespace(cmd, args, words)); err != nil {
			return err
		}
		return takeConfig(cmd, streams)
	}
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if lost := streams.unprinted(); lost != nil && (err == nil || errors.Is(err, errors.Unwrap(errors.Unwrap(lost)))) {
		err = lost
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	failure.Complain(streams.Err.level("error"), err)
	return failure.CodeOf(err)
}

// wantsJSON reports whether every line on stderr is a JSON object: if MUSTER_LOG_FORMAT says so, or
// --log-format of a verb that has it. It reads args itself, because the flags may be the error.
func wantsJSON(args []string) bool {
	format := os.Getenv(names.EnvLogFormat)
	if len(args) > 0 && slices.Contains(launchVerbs(), args[0]) {
		for i, word := range args {
			if word == "--" {
				break
			}
			if value, ok := strings.CutPrefix(word, "--log-format="); ok {
				format = value
			} else if word == "--log-format" && i+1 < len(args) {
				format = args[i+1]
			}
		}
	}
	return format == names.LogJSON
}

// launchVerbs are the verbs of a launcher, for pods and for --fake.
func launchVerbs() []string { return []string{"run", "env", "hosts"} }

// newRoot returns the command agent with all verbs. If verb is one of launchVerbs, it is the only
// one: a launcher runs as long as its job, and keeps no flags of other verbs in memory.
func newRoot(streams Streams, verb string) *cobra.Command {
	root := &cobra.Command{
		Use:           "agent",
		Short:         "launch MPI jobs from inside the pods",
		Long:          rootHelp,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: string(streams.Caller)},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "help [VERB]", Hidden: true, RunE: helpVerb(streams.Caller, root)})
	if slices.Contains(launchVerbs(), verb) {
		root.AddCommand(newLaunching(streams, verb))
		return root
	}
	root.AddCommand(newConvert(streams), newVersion(streams), newCompletion(streams), newKeygen(streams))
	root.AddCommand(managing(streams)...)
	if streams.Caller == asPlugin {
		root.Long = pluginHelp
		return root
	}
	for _, verb := range launchVerbs() {
		root.AddCommand(newLaunching(streams, verb))
	}
	root.AddCommand(newMetrics(streams))
	for _, verb := range names.SmallVerbs() {
		root.AddCommand(newElsewhere(verb))
	}
	return root
}

func helpVerb(by caller, root *cobra.Command) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return unknownVerb(by, strings.Join(args, " "))
		}
		return cmd.Help()
	}
}

// noArgs rejects words for a verb that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return failure.Usage(cmd.CommandPath()+" --help", "%s: unexpected argument %q", cmd.CommandPath(), args[0])
}
