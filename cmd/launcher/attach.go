package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/terminal"
)

const attachHelp = `usage: agent attach NAME [--rank N | --pod POD] [-c CONTAINER] [-- COMMAND...]

Opens a shell in a job's launcher, or in the pod of rank 0 if the job has no launcher. With
COMMAND, runs that instead of a shell. In a launcher, eval "$(agent env)" sets up mpirun.

  agent attach pi
  agent attach pi --rank 3 -- nvidia-smi

Without NAME it is the worker's end of a link. Only Muster calls it like that.`

func newAttach(streams Streams) *cobra.Command {
	var where jobs.Where
	var rank int
	at := jobs.Attach{In: streams.In, Out: streams.Out.file, Err: streams.Err.file}
	cmd := &cobra.Command{Use: "attach [flags] NAME [-- COMMAND...]", Short: "open a shell in a job's pod", Long: attachHelp}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		words := args
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			words, at.Argv = args[:n], args[n:]
		}
		name, err := oneName(cmd, words)
		if err != nil {
			return err
		}
		at.Job = name
		if cmd.Flags().Changed("rank") {
			at.Rank = &rank
		}
		if rank < 0 {
			return failure.Usage("ranks count from 0", "--rank=%d must not be negative", rank)
		}
		if at.Rank != nil && at.Pod != "" {
			return failure.Usage("use only one of them", "--rank and --pod cannot be used together")
		}
		api, err := open(where)
		if err != nil {
			return err
		}
		err = api.Attach(cmd.Context(), at)
		var exit *terminal.ExitError
		switch {
		case errors.As(err, &exit):
			return exitCode(exit.Code)
		case err != nil && failure.CodeOf(err) == names.ExitBug:
			return failure.New(names.ExitNoCluster, "", "%w", err)
		}
		return err
	}
	var groups []group
	set := addGroup(&groups, "pod")
	set.IntVar(&rank, "rank", 0, "use the pod of rank `N`")
	set.StringVar(&at.Pod, "pod", "", "use pod `POD`, as in pi-worker-3 or worker-3")
	set.StringVarP(&at.Container, "container", "c", "", "use container `CONTAINER` of the pod")
	whereFlags(addGroup(&groups, "the cluster"), &where)
	bindGroups(cmd, groups)
	return cmd
}
