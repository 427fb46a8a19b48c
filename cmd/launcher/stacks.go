package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/terminal"
)

const stacksHelp = `usage: agent stacks [RANK...]
       agent stacks JOB [RANK...]

Shows where each rank is: its system call and, for Python, its source lines. Ranks in the same
place are grouped. Without JOB it asks the launcher in this pod, with JOB the launcher of that
job. It takes at most 10 s and stops nothing.

  agent stacks
  agent stacks 3
  agent stacks bert
  agent stacks bert 0 7`

func newStacks(streams Streams) *cobra.Command {
	var where jobs.Where
	cmd := &cobra.Command{Use: "stacks [flags] [JOB] [RANK...]", Short: "show where each rank is", Long: stacksHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || isNumber(args[0]) {
			if err := areRanks(args); err != nil {
				return err
			}
			return stacksHere(streams, args)
		}
		if err := cmp.Or(jobs.CheckNames(args[0]), areRanks(args[1:])); err != nil {
			return err
		}
		return runInLauncher(cmd.Context(), streams, where, args[0], append([]string{"stacks"}, args[1:]...)...)
	}
	var groups []group
	whereFlags(addGroup(&groups, "the cluster"), &where)
	bindGroups(cmd, groups)
	return cmd
}

// areRanks returns an error if a word is not the number of a rank.
func areRanks(words []string) error {
	for _, word := range words {
		if n, err := strconv.Atoi(word); err != nil || n < 0 {
			return failure.Usage("a rank is a number, as in agent stacks 3", "%q is not a rank", word)
		}
	}
	return nil
}

// runInLauncher runs the agent in the pod of a job's launcher, and passes on what it prints and its
// exit code.
func runInLauncher(ctx context.Context, streams Streams, where jobs.Where, job string, args ...string) error {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer nothing.Close()
	api, err := open(where)
	if err != nil {
		return err
	}
	err = api.Attach(ctx, jobs.Attach{Job: job, Launcher: true, In: nothing, Out: streams.Out.file, Err: streams.Err.file,
		Argv: append([]string{names.AgentPath}, args...)})
	var exit *terminal.ExitError
	switch {
	case errors.As(err, &exit):
		return exitCode(exit.Code)
	case err != nil && failure.CodeOf(err) == names.ExitBug:
		return failure.New(names.ExitNoCluster, "", "%w", err)
	}
	return err
}

// isNumber distinguishes a rank from a job's name, which begins with a letter.
func isNumber(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}
