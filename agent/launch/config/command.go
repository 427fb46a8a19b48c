package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/names"
)

// launcherFramework is the framework of an unknown command. The command runs in the launcher, and
// its environment lets any mpirun reach the workers.
const launcherFramework = "mpi"

// Auto reports whether the user named no framework.
func (c Config) Auto() bool { return c.Framework == "" || c.Framework == framework.Auto }

// FrameworkName returns the framework that the user named, or that is detected; "" if there is none.
func (c Config) FrameworkName() string {
	if !c.Auto() {
		return c.Framework
	}
	return c.Detected()
}

// ForGroupCheck returns the Config of --preflight-group-command: one process on each worker, with
// the variables of the run's framework. If mpirun or the like starts the ranks, the processes get
// the variables of PyTorch, which most test programs read.
func (c Config) ForGroupCheck() Config {
	switch c.FrameworkName() {
	case "tensorflow", "jax", "paddle", "xgboost", "lightgbm", "mxnet", "plain":
		c.Framework = c.FrameworkName()
	default:
		c.Framework = "torch"
	}
	c.Command = []string{"/bin/sh", "-c", c.GroupCheck}
	c.ProcsPerWorker, c.LauncherSlots, c.LeastWorkers, c.MostWorkers = 1, 0, 0, 0
	c.Success, c.Compat, c.OnlyRanks = "all", "", ""
	return c
}

// Detected returns the framework of the command, or of the launcher that a script starts. It
// returns "" if there is none.
func (c Config) Detected() string {
	return cmp.Or(framework.Detect(c.Command), framework.DetectBelow(c.Below()))
}

// Below returns the words of the launcher that a script starts. With --exit=command it returns nil,
// because the command has to run as it is.
func (c Config) Below() []string {
	if c.Exit == verdict.ExitCommand {
		return nil
	}
	return framework.Below(c.Command, framework.Scripts(c.Chdir))
}

// inquiries are the options after which an MPI launcher prints something and runs nothing. valued
// are the options with a value that may precede them. Both cover Open MPI, MPICH, Intel MPI and
// horovodrun.
var (
	inquiries = []string{"--version", "-version", "-V", "--help", "-help", "-h", "-?", "--info", "-info", "-cb", "--check-build"}
	valued    = []string{"-n", "-np", "--n", "--np", "-c", "-N", "-ppn", "-H", "-host", "--host", "-hosts",
		"-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-wdir", "--wdir"}
)

// IsInquiry reports whether the command only asks an MPI launcher about itself (mpirun --version).
// It ignores words that follow the program's name, because they belong to the program.
func IsInquiry(argv []string) bool {
	for i := 1; i < len(argv); i++ {
		switch word := argv[i]; {
		case slices.Contains(inquiries, word), word == "-v" && filepath.Base(argv[0]) == "horovodrun":
			return true
		case slices.Contains(valued, word):
			i++
		case !strings.HasPrefix(word, "-"):
			return false
		}
	}
	return false
}

// Asked returns the names of the variables whose values workers report. It returns nil for fake
// workers, which have the launcher's environment.
func (c Config) Asked() []string {
	if c.IsFake() {
		return nil
	}
	return framework.Exported()
}

// RanksShown checks --only-ranks against the number of ranks. Other ranks may join an elastic run.
func (c Config) RanksShown(ranks int) error {
	spans, err := c.Shown()
	if err != nil || c.Elastic() {
		return err
	}
	for _, s := range spans {
		if s.Last >= ranks {
			return failure.Usage(fmt.Sprintf("the job has the ranks 0 to %d", ranks-1), "--only-ranks=%s: there is no rank %d", c.OnlyRanks, s.Last)
		}
	}
	return nil
}

// HereOnly returns an error if a command that runs in the launcher has a flag for processes that
// Muster starts.
func (c Config) HereOnly() error {
	const way = "--framework=plain starts the command itself on every worker"
	switch {
	case c.Given("procs-per-worker"):
		return failure.Usage(way, "--procs-per-worker=%d: the command runs in the launcher and starts its processes itself", c.ProcsPerWorker)
	case c.OnlyRanks != "":
		return failure.Usage(way, "--only-ranks=%s: the command runs in the launcher and prints its ranks' output itself", c.OnlyRanks)
	case c.toFiles():
		return failure.Usage(way, "--output=%s: the command runs in the launcher and prints its ranks' output itself", c.Output)
	}
	return nil
}

// These values record whether Open MPI's mpirun runs. Its daemons look for the launcher's rsh agent
// under the same path on every worker, and hang without it.
const (
	noMPIRun    = iota // processes on the workers, or Hydra, whose proxies look up no path
	MaybeMPIRun        // such as a script
	SurelyMPIRun
)

// StartsDaemons returns noMPIRun, MaybeMPIRun or SurelyMPIRun for the command.
func (c Config) StartsDaemons() int {
	if len(c.Command) == 0 || !c.Auto() && c.Framework != launcherFramework {
		return noMPIRun
	}
	base := filepath.Base(c.Command[0])
	_, family, _ := strings.Cut(base, ".")
	switch {
	case slices.Contains([]string{"hydra", "mpich"}, family):
		return noMPIRun
	case names.IsMPIRun(base):
		return SurelyMPIRun
	}
	return MaybeMPIRun
}

// Pdsh is the name of pdsh, which runs a command on many hosts.
const Pdsh = "pdsh"

// IsRemote reports whether the command is a launcher that does all its work on workers: deepspeed,
// horovodrun or pdsh. Ray is excluded, because its commands may talk to a running cluster.
// `deepspeed --autotuning` is excluded, because it starts other launchers.
func (c Config) IsRemote() bool {
	says, found := framework.StarterIn(c.Command)
	found = found && !says.Trials && slices.Contains([]string{"deepspeed", "horovod"}, framework.Detect(c.Command))
	meant := c.Auto() || slices.Contains([]string{"deepspeed", "horovod"}, framework.Spelled(c.Framework))
	return meant && found || framework.IsProgram(c.Command, Pdsh)
}
