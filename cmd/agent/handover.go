package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/musterhq/muster/exec/names"
)

const help = `Usage:
  agent run [flags] -- COMMAND...   launch a job: wait for workers, run COMMAND, decide the exit code
  agent env, agent hosts            print the environment of run, and the workers
  agent worker                      run as PID 1 of a worker
  agent join [flags] -- COMMAND...  run as PID 1 of each pod of a job without a launcher
  agent rsh HOST COMMAND...         run a command on a worker, as ssh does
  agent install DIR                 copy the agent into DIR
  agent ready                       exit with 0 if the worker in this container is ready
  agent submit | list | get | logs | attach | stacks | timeline | doctor | scale | delete | prune | top
                                    manage jobs in a cluster, from anywhere
  agent convert | metrics           convert other projects' jobs, collect numbers from saved logs
  agent completion | keygen | version

Examples:
  agent run --fake 4 -- mpirun ./pi          four workers on this machine, without a cluster
  agent run --workers 4 -- mpirun ./pi       in the launcher's pod
  agent rsh worker-3 nvidia-smi              in the pod of a running launcher

agent VERB --help shows the flags of a verb. Called as kubexec.sh, ssh, rsh or pdsh, it acts like those.
`

func runHelp() int {
	return show(help)
}

// handOver replaces this process by agent-launcher, which is in the directory of this binary,
// whatever link this was called by. Without agent-launcher only version is answered.
func handOver(args []string) int { return handOverAs("agent", args) }

// handOverAs is handOver under another name.
func handOverAs(name string, args []string) int {
	self, err := os.Executable()
	if err != nil {
		return complain(names.ExitBug, fmt.Errorf("find own binary: %w", err))
	}
	launcher := filepath.Join(filepath.Dir(self), "agent-launcher")
	err = syscall.Exec(launcher, append([]string{name}, args...), os.Environ())
	if errors.Is(err, os.ErrNotExist) {
		if len(args) > 0 && args[0] == "version" {
			return runVersion(args[1:])
		}
		return complainWith(names.ExitUsage, "put agent-launcher beside agent, as in the image of a launcher",
			fmt.Errorf("unknown command %q: the commands of the launcher are in %s, which does not exist", strings.Join(args[:min(len(args), 1)], ""), launcher))
	}
	return complain(names.ExitNotRunable, fmt.Errorf("run %s: %w", launcher, err))
}
