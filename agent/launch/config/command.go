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

// launcherFramework is for a command of which nothing is known: it runs in the
// launcher, with an environment in which any mpirun reaches the workers.
const launcherFramework = "mpi"

// Auto reports whether nobody named a framework.
func (c Config) Auto() bool { return c.Framework == "" || c.Framework == framework.Auto }

// Detected is the framework that the command, or the script that it is, says; "" for none.
func (c Config) Detected() string {
	return cmp.Or(framework.Detect(c.Command), framework.DetectBelow(c.Below()))
}

// Below are the words of the launcher that the command starts, where it is a script. With
// --exit=command it is meant to run as it is.
func (c Config) Below() []string {
	if c.Exit == verdict.ExitCommand {
		return nil
	}
	return framework.Below(c.Command, framework.Scripts(c.Chdir))
}

// Options of the MPI launchers after which they print something and run nothing, and
// those options before them that take a value. Open MPI, MPICH, Intel MPI and horovodrun.
var (
	inquiries = []string{"--version", "-version", "-V", "--help", "-help", "-h", "-?", "--info", "-info", "-cb", "--check-build"}
	valued    = []string{"-n", "-np", "--n", "--np", "-c", "-N", "-ppn", "-H", "-host", "--host", "-hosts",
		"-f", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-wdir", "--wdir"}
)

// IsInquiry reports whether an MPI launcher is asked about itself (mpirun --version).
// Words from the program's name on are the program's.
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

// Asked are the variables of which workers tell what they have. Fake ones have
// the launcher's environment.
func (c Config) Asked() []string {
	if c.IsFake() {
		return nil
	}
	return framework.Exported()
}

// RanksShown checks --only-ranks against the ranks that there are.
func (c Config) RanksShown(ranks int) error {
	spans, err := c.Shown()
	if err != nil {
		return err
	}
	for _, s := range spans {
		if s.Last >= ranks {
			return failure.Usage(fmt.Sprintf("the job has the ranks 0 to %d", ranks-1), "--only-ranks=%s: there is no rank %d", c.OnlyRanks, s.Last)
		}
	}
	return nil
}

// HereOnly refuses, for a command in the launcher, what is for processes that we
// start.
func (c Config) HereOnly() error {
	const way = "--framework=plain starts the command itself on every worker"
	switch {
	case c.Given("procs-per-worker"):
		return failure.Usage(way, "--procs-per-worker=%d: the command runs in the launcher and starts its processes itself", c.ProcsPerWorker)
	case c.OnlyRanks != "":
		return failure.Usage(way, "--only-ranks=%s: the command runs in the launcher and carries its ranks' output itself", c.OnlyRanks)
	case strings.HasPrefix(c.Output, "dir="):
		return failure.Usage(way, "--output=%s: the command runs in the launcher and carries its ranks' output itself", c.Output)
	}
	return nil
}

// Whether Open MPI's mpirun runs, whose daemons look for the launcher's rsh agent
// under the same path on every worker, and hang without it.
const (
	noMPIRun    = iota // processes on the workers, or Hydra, which looks nothing up
	MaybeMPIRun        // a script, say
	SurelyMPIRun
)

// StartsDaemons judges by the command.
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

// Pdsh is the name of the command that runs others on many hosts.
const Pdsh = "pdsh"

// IsRemote reports whether the command is a launcher that does all of its work on workers:
// deepspeed, horovodrun or pdsh. Ray's commands may talk to a cluster that runs already, and
// deepspeed --autotuning starts others.
func (c Config) IsRemote() bool {
	says, found := framework.StarterIn(c.Command)
	found = found && !says.Trials && slices.Contains([]string{"deepspeed", "horovod"}, framework.Detect(c.Command))
	meant := c.Auto() || slices.Contains([]string{"deepspeed", "horovod"}, framework.Spelled(c.Framework))
	return meant && found || framework.IsProgram(c.Command, Pdsh)
}
