//go:build !windows

package main

import (
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/musterhq/muster/agent/launch"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/proc"
)

const runHelp = `usage: agent run [FLAGS] -- COMMAND...

Waits for the workers and reports which are missing and why. Then it writes the hostfile and
runs COMMAND with MPI set up to reach the workers. Open MPI 4 and 5, MPICH and Intel MPI need
no other options. With --framework, or a command that implies one (torchrun, ray...), COMMAND
starts on every worker instead, with the variables that the framework reads. The exit code is
then that of the first process that failed.

  agent run --workers=4 --slots=8 -- mpirun ./program
  agent run --fake=4 -- mpirun ./program
  agent run --fake=4 --framework=torch -- python3 train.py
  agent run --workers=4 --framework=tensorflow --roles chief=1,ps=1,worker=2 -- python3 train.py
  agent run --workers=4 -- sleep inf        then, in kubectl exec: eval "$(agent env)"; mpirun ...`

func newRun(streams Streams) *cobra.Command {
	flags := newFlags()
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND...",
		Short: "wait for the workers and run a command on them",
		Long:  runHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := flags.resolve(cmd, args)
			if err != nil {
				return err
			}
			proc.LimitGarbage(max(cfg.Workers, cfg.MostWorkers, cfg.Fake))
			log := console.NewLogger(streams.Err.file, cfg.LogFormat, cfg.LogLevel, term.IsTerminal(int(streams.Err.Fd())))
			code, err := launch.Run(cmd.Context(), cfg, partsOf(cfg), console.Streams{In: streams.In, Out: streams.Out.file, Err: streams.Err.file}, log)
			if err != nil || code == 0 {
				return err
			}
			return exitCode(code)
		},
	}
	flags.bind(cmd)
	cmd.Flags().SetInterspersed(false) // flags after the command are the command's
	return cmd
}
