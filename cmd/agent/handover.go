package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
)

const help = `Usage:
  agent run [flags] -- COMMAND...   launch a job: wait for workers, run COMMAND, decide the exit code
  agent env, agent hosts            print the environment of run, and the workers
  agent worker                      run as PID 1 of a worker
  agent join [flags] -- COMMAND...  run as PID 1 of each pod of a job without a launcher
  agent rsh HOST COMMAND...         run a command on a worker, as ssh does
  agent install DIR                 copy the agent into DIR
  agent ready | attach | version
  agent submit | list | get | logs | stacks | scale | delete | prune | top
                                    manage jobs in a cluster, from anywhere

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
func handOver(args []string) int {
	self, err := os.Executable()
	if err != nil {
		return complain(names.ExitBug, fmt.Errorf("find own binary: %w", err))
	}
	launcher := filepath.Join(filepath.Dir(self), "agent-launcher")
	err = syscall.Exec(launcher, append([]string{"agent"}, args...), os.Environ())
	if errors.Is(err, os.ErrNotExist) {
		if args[0] == "version" {
			return runVersion(args[1:])
		}
		return complainWith(names.ExitUsage, "put agent-launcher beside agent, as in the launcher's image",
			fmt.Errorf("unknown command %q: the commands of the launcher are in %s, which does not exist", args[0], launcher))
	}
	return complain(names.ExitNotRunable, fmt.Errorf("run %s: %w", launcher, err))
}

const versionHelp = `Usage:
  agent version [-o json]

Prints the version or commit, and the supported protocol versions.
`

// runVersion is `agent version` if there is no agent-launcher.
func runVersion(args []string) int {
	fs := newFlags("version")
	output := fs.String("o", "", "")
	if code, ok := parse(fs, versionHelp, args, 0, 0); !ok {
		return code
	}
	switch *output {
	case "":
		return show(fmt.Sprintf("agent %s (%s, %s/%s, protocol %d to %d)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
			wire.ProtoMin, wire.ProtoMax))
	case "json":
		return show(fmt.Sprintf("{\"program\": \"agent\", \"version\": %q, \"go\": %q, \"platform\": \"%s/%s\", \"protocolMin\": %d, \"protocolMax\": %d}\n",
			version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ProtoMin, wire.ProtoMax))
	}
	return complain(names.ExitUsage, fmt.Errorf("version: -o %s is not known, it takes json", *output))
}

// release is set at link time for builds without version control.
var release string

// version returns the release, or the commit from which this was built.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	if info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
