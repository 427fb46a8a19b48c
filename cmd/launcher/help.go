package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `usage: agent VERB [FLAGS] [-- COMMAND...]

  agent run --workers=4 -- mpirun ./program   launch over four workers
  agent run --fake=4 -- mpirun ./program      the same on this machine, no cluster
  agent run --workers=4 --framework=torch -- python3 train.py
  eval "$(agent env)"                         then type mpirun yourself

launcher
  run       wait for the workers, run a command with an MPI that reaches them
  env       print what run exports
  hosts     print the workers as a hostfile
  metrics   collect numbers such as loss=0.3 from saved output

jobs in a cluster, from anywhere
  convert   print LaunchJobs for MPIJobs, PyTorchJobs, TFJobs... in a file
  submit    make a job, with Arena's flags; --wait ends as it ends
  list      list jobs; get NAME tells how one stands and why
  logs      print a job's log: agent logs -f NAME
  attach    a shell in a job's launcher, or in a worker
  stacks    where each rank stands; in a launcher, without a job's name
  scale     change the number of workers
  delete    delete jobs; prune deletes those that have ended
  top       GPUs, CPU and memory of jobs and nodes

worker
  worker    PID 1 of a worker: owns every process of the job
  ready     exit 0 when the worker takes sessions
  install   copy the agent into a directory, for images without it

transport, called by others
  rsh       mpirun's remote shell: agent rsh HOST COMMAND...
  attach    without a name: the far end of a link, run by pods/exec

  version     what this is
  completion  a script that makes a shell complete: agent completion bash

agent VERB --help tells more.
`

const exitCodes = `exit codes
  0..255    the command's own
  64        the command line is wrong
  69        the cluster cannot be reached
  70        a bug of ours
  74        output or a file of ours could not be written
  75        the workers were not there by the deadline
  76        waiting cannot help, a worker was lost, or a 0 that was not earned
  77        the launcher lacks a right
  79        the run hung, or broke a progress rule, and was stopped (--hang-action, --progress-action,
            --exit-within)
  126, 127  the command cannot be run, was not found
  128+n     ended by signal n
`

// helpAll is the flag that prints help with every flag.
const helpAll = "--help-all"

// asHelp replaces --help-all among the flags at the start of args by --help, and reports whether
// it was there.
func asHelp(args []string) (asked []string, all bool) {
	for i, word := range args {
		if word == helpAll {
			return slices.Concat(args[:i], []string{"--help"}, args[i+1:]), true
		}
		if i > 0 && (word == "--" || !strings.HasPrefix(word, "-")) {
			break
		}
	}
	return args, false
}

// printHelp prints usage and examples first, then the flags by group: all of them, or those that most
// users need. It does not use cobra's templates, because text/template makes the linker keep every
// exported method of every dependency.
func printHelp(cmd *cobra.Command, all bool) {
	w := cmd.OutOrStdout()
	fmt.Fprintln(w, strings.TrimRight(cmd.Long, "\n"))
	groups, left := groupsOf(cmd, all)
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n%s", g.title, g.set.FlagUsagesWrapped(110))
	}
	switch {
	case left > 0:
		fmt.Fprintf(w, "\n%s %s lists %d more flags, and exit codes.\n", cmd.CommandPath(), helpAll, left)
	case cmd.Name() == "submit":
		fmt.Fprintf(w, "\n%s\n", submitCodes)
	case cmd.Name() == "run":
		fmt.Fprintf(w, "\nEvery flag may be given as MUSTER_FLAG in the environment; a flag counts before it. A MUSTER_\nvariable that Muster does not know is refused.\n\n%s", exitCodes)
	}
}
