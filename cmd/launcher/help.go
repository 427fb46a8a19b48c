package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Parts of the help that both callers have.
const (
	jobsHelp = `jobs in a cluster, from anywhere
  convert   convert MPIJobs, PyTorchJobs, TFJobs... in a file to LaunchJobs
  submit    create a job, with Arena's flags; --wait exits with its result
  list      list jobs; get NAME shows the status of one
  logs      print a job's log: agent logs -f NAME
  attach    open a shell in a job's launcher, or in a worker
  stacks    show where each rank is; in a launcher, omit the job's name
  timeline  show where the time of a run went, by worker and phase
  doctor    check the cluster, a job and its workers, and name what fails first
  scale     change the number of workers
  delete    delete jobs; prune deletes finished jobs
  top       show GPUs, CPU, memory and step times of jobs and nodes

`
	lastHelp = `  version     print the version
  completion  print a shell completion script; --help lists the shells
  keygen      write the keys of a job whose launcher reaches workers by network

agent VERB --help shows the flags of a verb.
`
)

const pluginHelp = `usage: agent VERB [FLAGS] [-- COMMAND...]

  agent submit --name=pi --image=repo/pi:1 --workers=4 -- mpirun ./pi
  agent logs -f pi
  agent list -A

` + jobsHelp + lastHelp

const rootHelp = `usage: agent VERB [FLAGS] [-- COMMAND...]

  agent run --workers=4 -- mpirun ./program   launch on four workers
  agent run --fake=4 -- mpirun ./program      the same on this machine, without a cluster
  agent run --workers=4 --framework=torch -- python3 train.py
  eval "$(agent env)"                         then type mpirun yourself

launcher
  run       wait for the workers, then run a command with MPI set up for them
  env       print the environment that run sets
  hosts     print the workers as a hostfile
  metrics   collect numbers such as loss=0.3 from saved logs

` + jobsHelp + `worker
  worker    run as PID 1 of a worker; owns every process of the job
  join      run as PID 1 of each pod of a job without a launcher
  ready     exit 0 if the worker is ready for sessions
  install   copy the agent into a directory, for images that lack it

transport, called by other programs
  rsh       remote shell for mpirun: agent rsh HOST COMMAND...
  attach    without a name: the worker's end of a link, run by pods/exec

` + lastHelp

const exitCodes = `exit codes
  0..255    the command's exit code
  64        usage error
  69        the cluster cannot be reached
  70        internal error in Muster
  74        output or a file of Muster could not be written
  75        workers were missing at the deadline
  76        permanent error, lost worker, or a command that exited 0 but failed
  77        the launcher lacks a permission
  79        the run was stopped because it hung or broke a progress rule (--hang-action,
            --progress-action, --exit-within)
  93        several attempts in a row made no progress (--max-no-progress)
  126, 127  the command cannot be run, or was not found
  128+n     killed by signal n
`

// helpAll is the flag that prints help with every flag.
const helpAll = "--help-all"

// asksForAll reports whether an error of pflag is about helpAll, which is no flag of any verb.
func asksForAll(err error) bool {
	var unknown *pflag.NotExistError
	return errors.As(err, &unknown) && "--"+unknown.GetSpecifiedName() == helpAll
}

// printHelp prints usage and examples first, then the flags by group: all of them, or those that most
// users need. It does not use cobra's templates, because text/template makes the linker keep every
// exported method of every dependency.
func printHelp(streams Streams, cmd *cobra.Command, all bool) {
	w := streams.Out
	w.words = streams.Caller.words()
	fmt.Fprintln(w, strings.TrimRight(cmd.Long, "\n"))
	groups, left := groupsOf(cmd, all)
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n%s", g.title, g.set.FlagUsagesWrapped(110))
	}
	switch {
	case left > 0:
		fmt.Fprintf(w, "\n%s %s shows %d more flags, and the exit codes.\n", cmd.CommandPath(), helpAll, left)
	case cmd.Name() == "submit":
		fmt.Fprintf(w, "\n%s\n", submitCodes)
	case cmd.Name() == "run":
		fmt.Fprintf(w, "\nEvery flag can be set by an environment variable, as in MUSTER_WORKERS. A flag overrides its\nvariable. Unknown MUSTER_ variables are refused.\n\n%s", exitCodes)
	}
}
